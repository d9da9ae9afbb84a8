#include "core/bf16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lockring {
namespace {

TEST(Bf16, KeepsWhatItHolds) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = from_bf16(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(to_bf16(value), bits);
  }
}

TEST(Bf16, RoundsToTheNearestAndTiesToEven) {
  const float step = std::ldexp(1.0F, -7);  // between neighbours at 1
  EXPECT_EQ(from_bf16(to_bf16(1 + 0.4F * step)), 1);
  EXPECT_EQ(from_bf16(to_bf16(1 + 0.6F * step)), 1 + step);
  EXPECT_EQ(from_bf16(to_bf16(1 + 0.5F * step)), 1);
  EXPECT_EQ(from_bf16(to_bf16(1 + 1.5F * step)), 1 + 2 * step);
  EXPECT_EQ(from_bf16(to_bf16(-1 - 1.5F * step)), -1 - 2 * step);
}

TEST(Bf16, WhatIsNotFiniteStaysThat) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(from_bf16(to_bf16(kInfinity)), kInfinity);
  EXPECT_EQ(from_bf16(to_bf16(-kInfinity)), -kInfinity);
  EXPECT_EQ(from_bf16(to_bf16(std::numeric_limits<float>::max())), kInfinity) << "the nearest";
  for (const std::uint32_t bits : {0x7f800001U, 0x7fffffffU, 0xffffffffU, 0x7fc00000U, 0xff800001U})
    EXPECT_TRUE(std::isnan(from_bf16(to_bf16(std::bit_cast<float>(bits))))) << bits;
}

}  // namespace
}  // namespace lockring
