#include "apps/event_file.h"

#include "core/error.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace lockring::app {
namespace {

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  constexpr std::uint32_t kReflectedPolynomial = 0x82F63B78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? kReflectedPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> kCrcTable = make_crc_table();

template <class Unsigned>
std::string little_endian(Unsigned value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(value); ++i) bytes += static_cast<char>(value >> 8 * i & 0xff);
  return bytes;
}

// The parts of the protocol buffer encoding that events need. A field is its number and wire type, then its value.
enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}

std::string key(int field, Wire wire) {
  return varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire));
}

std::string integer_field(int field, std::int64_t value) {
  return key(field, Wire::varint) + varint(static_cast<std::uint64_t>(value));
}
std::string double_field(int field, double value) {
  return key(field, Wire::fixed64) + little_endian(std::bit_cast<std::uint64_t>(value));
}
std::string float_field(int field, float value) {
  return key(field, Wire::fixed32) + little_endian(std::bit_cast<std::uint32_t>(value));
}
std::string bytes_field(int field, std::string_view bytes) {
  return key(field, Wire::bytes) + varint(bytes.size()) + std::string(bytes);
}

// Event: wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7.
std::string event_time(double seconds) { return double_field(1, seconds); }
std::string event_step(std::int64_t step) { return integer_field(2, step); }
std::string version_event() { return bytes_field(3, "brain.Event:2"); }
// Summary: value = 1 { tag = 1, simple_value = 2 }.
std::string scalar_event(std::string_view tag, float value) {
  return bytes_field(5, bytes_field(1, bytes_field(1, tag) + float_field(2, value)));
}
// SessionLog: status = 1, of which 1 is START.
std::string start_event() { return bytes_field(7, integer_field(1, 1)); }

// Opens a new file. Names sort by the time of opening: TensorBoard reads a run's files in that order.
int open_new(const std::filesystem::path& directory, double seconds, std::filesystem::path& path) {
  for (int counter = 0;; ++counter) {
    path = directory /
           fmt::format("events.out.tfevents.{:010}.{}.{}", static_cast<std::int64_t>(seconds), getpid(), counter);
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
}

}  // namespace

std::uint32_t masked_crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) crc = kCrcTable[(crc ^ static_cast<std::uint8_t>(byte)) & 0xff] ^ crc >> 8;
  return std::rotr(~crc, 15) + 0xa282ead8;
}

EventFile::EventFile(const std::filesystem::path& directory, Warn warn, Clock clock)
    : warn_(std::move(warn)), clock_(std::move(clock)) {
  file_ = open_new(directory, clock_(), path_);
  check(file_ >= 0, ErrorCode::data, "cannot create {}: {}", path_.string(), std::strerror(errno));
  append(version_event());
  flush();
}

EventFile::~EventFile() {
  flush();
  if (file_ >= 0) close(file_);
}

void EventFile::scalar(std::string_view tag, std::int64_t step, double value) {
  append(event_step(step) + scalar_event(tag, static_cast<float>(value)));
}

void EventFile::resume(std::int64_t step) { append(event_step(step) + start_event()); }

void EventFile::append(std::string_view event) {
  if (file_ < 0) return;
  const std::string data = event_time(clock_()) + std::string(event);
  const std::string length = little_endian(static_cast<std::uint64_t>(data.size()));
  pending_ += length + little_endian(masked_crc32c(length)) + data + little_endian(masked_crc32c(data));
}

void EventFile::flush() {
  std::size_t done = 0;
  while (file_ >= 0 && done < pending_.size()) {
    const ssize_t count = write(file_, pending_.data() + done, pending_.size() - done);
    if (count >= 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      const std::string reason = std::strerror(errno);
      close(file_);
      file_ = -1;
      warn_(fmt::format("cannot write {}: {}; no further events are recorded", path_.string(), reason));
    }
  }
  pending_.clear();
}

double EventFile::system_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace lockring::app
