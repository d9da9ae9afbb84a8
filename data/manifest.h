// manifest.json: what a stored version of a data set is, where it came from and the checksums of its files.
#pragma once

#include "data/content.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockring::data {

struct StoredFile {
  std::string name;
  std::int64_t bytes = 0;
  std::string checksum;  // SHA-256
  // The file it was made from, to see without reading it whether it is still the same.
  std::string source;
  std::int64_t source_bytes = 0;
  std::int64_t source_time = 0;  // of the last change, in nanoseconds of the file system's clock
};

struct SplitCounts {
  std::int64_t images = 0;
  std::vector<std::int64_t> per_class;
};

struct Manifest {
  std::string name;
  std::string digest;
  std::string source;        // a folder or URL
  std::string ingested_utc;  // "2024-01-31T12:00:00Z"
  std::vector<std::string> classes;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  ChannelStatistics statistics;
  SplitCounts train;
  SplitCounts test;
  std::array<StoredFile, 4> files;  // in the order of kFileNames
};

// In `directory`. Reading throws Error{data} on a missing or damaged manifest, and on one of another format version.
Manifest read_manifest(const std::filesystem::path& directory);
void write_manifest(const std::filesystem::path& directory, const Manifest& manifest);

}  // namespace lockring::data
