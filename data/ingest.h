// Taking a data set in: find its four files, check everything, store them under the digest of their content.
#pragma once

#include "data/content.h"
#include "data/manifest.h"

#include <filesystem>
#include <functional>
#include <string>

namespace lockring::data {

struct IngestOptions {
  std::string source;  // a folder, a URL, or empty to search (source.h)
  std::string name = "fashion-mnist";
  std::filesystem::path data_dir;
  // The content's digest, or its first 16 digits or more; empty accepts any.
  std::string expect_digest;
  FileProgress progress;
  std::function<void(const std::string&)> notice;  // what the user should know but need not stop for
};

struct IngestReport {
  std::filesystem::path directory;
  Manifest manifest;
  bool already_there = false;
  std::string reason;  // why nothing was to do, if so
};

// Makes DATA_DIR/NAME/VERSION and names it the current one. The version appears whole or not at all. Processes may do
// this at once: one works, the others wait and then find it done. A damaged version is replaced.
// Throws Error{data} on anything wrong with the files (content.h), the download or the disk, and if the digest is not
// the expected one.
IngestReport ingest(const IngestOptions& options);

}  // namespace lockring::data
