#include "apps/event_file.h"

#include "apps/append_file.h"
#include "apps/event_record.h"
#include "apps/little_endian.h"
#include "apps/protobuf.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

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

// What a disk that is full for a while may keep waiting.
constexpr std::size_t kMostKept = std::size_t{1} << 20;

// Makes a new file, or none with errno set. Names sort by the time of making: TensorBoard reads a run's files in that
// order.
bool make_new(const std::filesystem::path& directory, double seconds, std::filesystem::path& path) {
  for (int counter = 0;; ++counter) {
    path = directory /
           fmt::format("events.out.tfevents.{:010}.{}.{}", static_cast<std::int64_t>(seconds), getpid(), counter);
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) return close(file) == 0;
    if (errno != EEXIST) return false;
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
  if (!make_new(directory, clock_(), path_)) {
    warn_once(std::strerror(errno));
    path_.clear();
  }
  add(0, version_event());
  flush();
}

EventFile::~EventFile() { flush(); }

// Event: wall_time = 1, step = 2, of which 0 is the default and left out.
void EventFile::add(std::int64_t step, std::string_view event) {
  std::string data = proto::double_field(1, clock_());
  if (step != 0) data += proto::integer_field(2, step);
  data += event;
  const std::string length = little_endian(static_cast<std::uint64_t>(data.size()));
  pending_ += length + little_endian(masked_crc32c(length)) + data + little_endian(masked_crc32c(data));
}

void EventFile::flush() {
  if (!path_.empty() && !pending_.empty()) {
    const std::string reason = append_whole(path_, pending_, IfMissing::fail);
    if (!reason.empty()) {
      warn_once(reason);
      if (pending_.size() <= kMostKept) return;
    }
  }
  pending_.clear();
}

void EventFile::warn_once(const std::string& reason) {
  if (!std::exchange(warned_, true))
    warn_(fmt::format("cannot write {}: {}; training goes on without it", path_.string(), reason));
}

double EventFile::system_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace lockring::app
