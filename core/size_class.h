// The sizes that allocators round blocks up to, so that a freed block fits the next request that is much like it.
#pragma once

#include <bit>
#include <cstdint>

namespace lockring {

constexpr int kSizeClasses = 4 * 40;

// The class of `units` units: four classes for each power of two, so at most a quarter of a block is waste.
constexpr int size_class_of(std::int64_t units) {
  if (units <= 4) return units <= 0 ? 0 : static_cast<int>(units) - 1;
  const auto last = static_cast<std::uint64_t>(units) - 1;
  const int exponent = std::bit_width(last) - 3;  // units in (4 << exponent, 8 << exponent]
  const auto quarter = static_cast<int>(last >> exponent) - 4;
  return 4 + 4 * exponent + quarter;
}

// The units that a block of a class holds.
constexpr std::int64_t units_of(int size_class) {
  if (size_class < 4) return size_class + 1;
  const int exponent = (size_class - 4) / 4;
  return (std::int64_t{5} + (size_class - 4) % 4) << exponent;
}

}  // namespace lockring
