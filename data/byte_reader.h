// The bytes of a file, decompressed where the file is gzip (RFC 1952).
//
// Whether it is gzip is told by its first two bytes, never by its name. The decompressed stream is checked: header,
// checksum and length of every member, no bytes after the last one, no end in the middle.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace lockring::data {

// One thread at a time. Every function throws Error{data} that names the file and the offset.
class ByteReader {
 public:
  explicit ByteReader(const std::filesystem::path& path);
  ~ByteReader();
  ByteReader(const ByteReader&) = delete;
  ByteReader& operator=(const ByteReader&) = delete;

  // Fills `bytes` as far as the content goes; returns how many were there. Fewer than asked for means the end.
  std::int64_t read(std::span<std::byte> bytes);
  // Bytes of content given so far, decompressed.
  std::int64_t offset() const { return offset_; }
  // No more bytes than this can come out of the file: its size, or what gzip can make of it at most.
  std::int64_t most_bytes() const;
  bool compressed() const { return inflater_ != nullptr; }
  const std::filesystem::path& path() const { return path_; }

 private:
  struct Inflater;

  std::int64_t read_file(std::byte* into, std::int64_t size);
  std::int64_t inflate_into(std::byte* into, std::int64_t size);
  bool refill();
  void end_member();

  std::filesystem::path path_;
  int file_ = -1;
  std::int64_t file_size_ = 0;
  std::int64_t file_offset_ = 0;
  std::int64_t offset_ = 0;
  std::unique_ptr<Inflater> inflater_;
};

// What content that is not IDX data seems to be, for messages: "an HTML page", "a zip archive", "bytes 3f 00 1a 08".
std::string describe_content(std::span<const std::byte> first_bytes);

}  // namespace lockring::data
