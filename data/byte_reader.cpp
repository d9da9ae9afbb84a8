#include "data/byte_reader.h"

#include "core/error.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

namespace lockring::data {
namespace {

constexpr std::size_t kChunk = 1 << 18;
// Deflate cannot make more than 1032 bytes out of one (zlib's technical notes).
constexpr std::int64_t kMostExpansion = 1032;

}  // namespace

struct ByteReader::Inflater {
  z_stream stream{};
  std::vector<std::byte> input = std::vector<std::byte>(kChunk);
  bool at_end = false;  // behind the last member

  // 16 more window bits: gzip only, with its checksum and length verified.
  Inflater() { check(inflateInit2(&stream, 16 + MAX_WBITS) == Z_OK, ErrorCode::other, "cannot start zlib"); }
  ~Inflater() { inflateEnd(&stream); }
};

ByteReader::ByteReader(const std::filesystem::path& path) : path_(path) {
  file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  check(file_ >= 0, ErrorCode::data, "cannot read {}: {}", path.string(), std::strerror(errno));
  try {
    struct stat status {};
    fstat(file_, &status);
    check(S_ISREG(status.st_mode), ErrorCode::data, "cannot read {}: expected a file, found something else",
          path.string());
    file_size_ = status.st_size;
    std::array<unsigned char, 2> magic{};
    const bool gzip = pread(file_, magic.data(), magic.size(), 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
    if (gzip) inflater_ = std::make_unique<Inflater>();
  } catch (...) {
    close(file_);
    throw;
  }
}

ByteReader::~ByteReader() { close(file_); }

std::int64_t ByteReader::most_bytes() const { return compressed() ? file_size_ * kMostExpansion : file_size_; }

// Short reads and ends of gzip members do not show: only the end of the content gives less than asked for.
std::int64_t ByteReader::read(std::span<std::byte> bytes) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  std::int64_t done = 0;
  while (done < size) {
    const std::int64_t count =
        compressed() ? inflate_into(bytes.data() + done, size - done) : read_file(bytes.data() + done, size - done);
    if (count == 0) break;
    done += count;
    offset_ += count;
  }
  return done;
}

// One read of the file as it is, compressed or not.
std::int64_t ByteReader::read_file(std::byte* into, std::int64_t size) {
  for (;;) {
    const ssize_t count = ::read(file_, into, static_cast<std::size_t>(size));
    if (count < 0 && errno == EINTR) continue;
    check(count >= 0, ErrorCode::data, "cannot read {} at byte {}: {}", path_.string(), file_offset_,
          std::strerror(errno));
    file_offset_ += count;
    return count;
  }
}

// Makes at least one more byte of input available, or says that there is none.
bool ByteReader::refill() {
  z_stream& stream = inflater_->stream;
  if (stream.avail_in > 0) return true;
  const std::int64_t count = read_file(inflater_->input.data(), static_cast<std::int64_t>(kChunk));
  stream.next_in = reinterpret_cast<Bytef*>(inflater_->input.data());
  stream.avail_in = static_cast<uInt>(count);
  return count > 0;
}

// Returns 0 only behind the last member's checked end.
std::int64_t ByteReader::inflate_into(std::byte* into, std::int64_t size) {
  z_stream& stream = inflater_->stream;
  const auto room = static_cast<uInt>(std::min<std::int64_t>(size, 1 << 30));
  stream.next_out = reinterpret_cast<Bytef*>(into);
  stream.avail_out = room;
  while (stream.avail_out == room && !inflater_->at_end) {
    check(refill(), ErrorCode::data, "{}: gzip data ends in the middle, at byte {}: the file is truncated",
          path_.string(), file_offset_);
    const int result = inflate(&stream, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      end_member();
    } else {
      check(result == Z_OK || result == Z_BUF_ERROR, ErrorCode::data, "{}: damaged gzip data near byte {}: {}",
            path_.string(), file_offset_ - stream.avail_in, stream.msg != nullptr ? stream.msg : zError(result));
    }
  }
  return room - stream.avail_out;
}

// A gzip file may hold several members one after the other; anything else behind one is an error.
void ByteReader::end_member() {
  z_stream& stream = inflater_->stream;
  if (!refill()) {
    inflater_->at_end = true;
    return;
  }
  check(stream.next_in[0] == 0x1f, ErrorCode::data,
        "{}: expected the end at byte {}, found more bytes after the gzip data", path_.string(),
        file_offset_ - stream.avail_in);
  inflateReset(&stream);
}

// In the order of what users are likely to have got instead of data.
std::string describe_content(std::span<const std::byte> first_bytes) {
  std::string text;
  for (const std::byte byte : first_bytes) text += static_cast<char>(std::tolower(std::to_integer<int>(byte)));
  if (text.empty()) return "an empty file";
  if (text.starts_with("pk\x03\x04")) return "a zip archive";
  if (text.starts_with("\x1f\x8b")) return "gzip data inside gzip data";
  if (text.starts_with("version https://git-lfs")) return "a Git LFS pointer, not the data";
  const std::size_t start = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  const std::string_view body = std::string_view(text).substr(std::min(start, text.size()));
  if (body.starts_with("<!doctype") || body.starts_with("<html") || body.starts_with("<head") ||
      body.starts_with("<body"))
    return "an HTML page (a failed download?)";
  if (body.starts_with("<")) return "an XML or HTML page (a failed download?)";
  std::string found = "bytes";
  for (const std::byte byte : first_bytes.first(std::min<std::size_t>(first_bytes.size(), 4)))
    found += fmt::format(" {:02x}", std::to_integer<int>(byte));
  return found;
}

}  // namespace lockring::data
