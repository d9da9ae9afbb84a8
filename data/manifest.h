// manifest.json: what a stored version of a data set is, where it came from and the checksums of its files.
#pragma once

#include "data/content.h"
#include "data/image_sizes.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockring::data {

struct StoredFile {
  std::string name;
  std::int64_t bytes = 0;
  std::string checksum;  // SHA-256
};

struct SplitCounts {
  std::int64_t images = 0;
  std::vector<std::int64_t> per_class;
};

struct Manifest {
  std::string name;
  std::string digest;
  std::string source;  // a folder or URL
  // Stands for the names, sizes and times of the source's files, to see without reading them whether they are the same.
  std::string source_stamp;
  std::string ingested_utc;  // "2024-01-31T12:00:00Z"
  std::vector<std::string> classes;
  ImageSizes sizes;
  ChannelStatistics statistics;
  SplitCounts train;
  SplitCounts test;
  std::string test_choice;  // how the test images were chosen; empty if the source has a test set of its own
  std::string warning;      // what those who use the data should know; mostly empty
  // Training images, training labels, test images, test labels, and perhaps the names of the classes.
  std::vector<StoredFile> files;

  std::int64_t bytes() const;
};

// In `directory`. Reading throws Error{data} on a missing or damaged manifest, and on one of another format version.
Manifest read_manifest(const std::filesystem::path& directory);
void write_manifest(const std::filesystem::path& directory, const Manifest& manifest);

}  // namespace lockring::data
