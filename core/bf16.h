// bfloat16: the upper half of a float32, which keeps its range.
#pragma once

#include <bit>
#include <cstdint>

namespace lockring {

// To the nearest, ties to even. What is not a number stays that.
inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  const bool is_nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return static_cast<std::uint16_t>((is_nan ? bits | 0x400000U : rounded) >> 16);
}

inline float from_bf16(std::uint16_t value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16); }

}  // namespace lockring
