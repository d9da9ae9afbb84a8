// A file that is read in any order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace lockring::data {

// Any number of threads may read at once. Every function throws Error{data} that names the file and the offset.
class RandomFile {
 public:
  explicit RandomFile(const std::filesystem::path& path);
  ~RandomFile();
  RandomFile(const RandomFile&) = delete;
  RandomFile& operator=(const RandomFile&) = delete;

  // Fills all of `bytes` from `offset` on.
  void read(std::int64_t offset, std::span<std::byte> bytes) const;
  std::int64_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int file_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace lockring::data
