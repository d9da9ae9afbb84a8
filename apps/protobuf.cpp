#include "apps/protobuf.h"

#include "apps/little_endian.h"

#include <bit>

namespace lockring::app::proto {
namespace {

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}

std::string key(int number, Wire wire) {
  return varint(static_cast<std::uint64_t>(number) << 3 | static_cast<std::uint64_t>(wire));
}

std::string fixed(double value) { return little_endian(std::bit_cast<std::uint64_t>(value)); }

}  // namespace

std::string integer_field(int number, std::int64_t value) {
  return key(number, Wire::varint) + varint(static_cast<std::uint64_t>(value));
}

std::string double_field(int number, double value) { return key(number, Wire::fixed64) + fixed(value); }

std::string float_field(int number, float value) {
  return key(number, Wire::fixed32) + little_endian(std::bit_cast<std::uint32_t>(value));
}

std::string bytes_field(int number, std::string_view value) {
  return key(number, Wire::bytes) + varint(value.size()) + std::string(value);
}

std::string doubles_field(int number, std::span<const double> values) {
  std::string packed;
  for (const double value : values) packed += fixed(value);
  return bytes_field(number, packed);
}

}  // namespace lockring::app::proto
