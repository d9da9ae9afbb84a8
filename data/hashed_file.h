// A file that is written once, from start to end, with its checksum.
#pragma once

#include "core/files.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::data {

// One thread at a time. Collects small writes. The file appears with commit(), or not at all. Throws Error{data} when
// it cannot be written.
class HashedFile {
 public:
  // Everything written is also given to `digest`, which may be shared by files written one after the other.
  HashedFile(const std::filesystem::path& path, Sha256& digest);

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  // Writes the file out; call once. Returns its SHA-256.
  std::string commit();
  std::int64_t bytes() const { return bytes_; }

 private:
  void flush();

  AtomicFile file_;
  Sha256& digest_;
  Sha256 checksum_;
  std::vector<std::byte> waiting_;
  std::int64_t bytes_ = 0;
};

}  // namespace lockring::data
