#include "core/cuda/bf16.h"

#include "core/bf16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace lockring::cuda {
namespace {

TEST(CudaBf16, IsTheCpusNumber) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = to_float(Bf16{static_cast<std::uint16_t>(bits)});
    ASSERT_EQ(std::bit_cast<std::uint32_t>(value), bits << 16);
  }
}

TEST(CudaBf16, RoundsAsTheCpuDoes) {
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 32749) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    Bf16 rounded{};
    store(&rounded, value);
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(to_float(rounded)));
    } else {
      ASSERT_EQ(rounded.bits, to_bf16(value)) << bits;
    }
  }
}

}  // namespace
}  // namespace lockring::cuda
