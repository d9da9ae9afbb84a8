// Files, written so that nothing half-written is ever visible.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace lockring {

// Whether what was written is on the disk when the call returns; else whoever writes it sees to that himself.
enum class Sync { now, later };

// A file under a temporary name in the target's folder; commit() syncs it and renames it over the target. Without
// commit (an exception) it vanishes. Every function throws Error{data} with the path and the system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit(Sync sync = Sync::now);

 private:
  std::filesystem::path target_;
  std::filesystem::path temporary_;
  int file_ = -1;
};

// AtomicFile in one call.
void write_file(const std::filesystem::path& path, std::string_view text, Sync sync = Sync::now);
// The whole file; throws Error{data} if it cannot be read.
std::string read_file(const std::filesystem::path& path);
// The same, or nothing if it cannot be read.
std::string read_file_or_nothing(const std::filesystem::path& path);

// SHA-256, as 64 lower-case hex digits.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(std::span<const std::byte> bytes);
  std::string hex();  // ends the computation; call once

 private:
  void* context_;
};
std::string sha256(std::string_view bytes);

}  // namespace lockring
