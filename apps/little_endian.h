// The bytes of an unsigned number, lowest first.
#pragma once

#include <cstddef>
#include <string>

namespace lockring::app {

template <class Unsigned>
std::string little_endian(Unsigned value) {
  std::string bytes;
  for (std::size_t i = 0; i < sizeof(value); ++i) bytes += static_cast<char>(value >> 8 * i & 0xff);
  return bytes;
}

}  // namespace lockring::app
