// Taking a data set in: find its files, check everything, store them under the digest of their content.
#pragma once

#include "data/content.h"
#include "data/manifest.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace lockring::data {

using Notice = std::function<void(const std::string&)>;

struct IngestOptions {
  std::string source;  // a folder, a URL, or empty to search (source.h)
  std::string name = "fashion-mnist";
  std::filesystem::path data_dir;
  // The digest (dataset_store.h), or its first 16 digits or more; empty accepts any.
  std::string expect_digest;
  // For sources without a test set (raw_dataset.h).
  std::optional<double> test_fraction = {};
  std::uint64_t seed = 1;
  FileProgress progress;
  Notice notice;        // what the user should know but need not stop for
  Notice warning = {};  // what the user must know: results would mislead
};

struct IngestReport {
  std::filesystem::path directory;
  Manifest manifest;
  bool already_there = false;
  std::string reason;  // why nothing was to do, if so
};

// Makes DATA_DIR/NAME/VERSION and names it the current one. The version appears whole or not at all; other versions
// stay. Processes may do this at once: one works, the others wait and then find it done. A damaged version is replaced.
// Throws Error{data} on anything wrong with the files (raw_dataset.h), the download or the disk, on a class that has
// test images but no training images, and if the digest is not the expected one.
IngestReport ingest(const IngestOptions& options);

}  // namespace lockring::data
