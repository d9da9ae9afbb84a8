#include "ops/all_finite.h"

#include "ops/all_finite_kernel.h"
#include "tests/support/device_test.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <limits>

namespace lockring {
namespace {

using AllFiniteTest = DeviceTest;
LOCKRING_DEVICE_TESTS(AllFiniteTest);

using Limits = std::numeric_limits<float>;

TEST_P(AllFiniteTest, HoldsForAllThatIsFinite) {
  EXPECT_TRUE(ops::all_finite(tensor({0, -0.0F, Limits::max(), Limits::lowest(), Limits::denorm_min(), -1}, {2, 3})));
  EXPECT_TRUE(ops::all_finite(random({1000})));
  EXPECT_TRUE(ops::all_finite(random({0, 3})));
}

TEST_P(AllFiniteTest, FindsOneBadValueAnywhere) {
  Tensor x = random_tensor({99});
  for (const float bad : {Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), -Limits::quiet_NaN()}) {
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const float before = std::exchange(x.data()[i], bad);
      EXPECT_FALSE(ops::all_finite(x.to(device()))) << bad << " at " << i;
      x.data()[i] = before;
    }
  }
}

TEST(AllFinite, HoldsForBothInstructionSets) {
  if (active_isa() != Isa::avx512) GTEST_SKIP() << "one instruction set only";
  const float values[20] = {};
  float bad[20] = {};
  bad[19] = Limits::infinity();
  for (OnCpu<AllFiniteFn>* all_finite : {LOCKRING_SIMD_KERNELS(all_finite)}) {
    std::uint8_t finite = 0;
    all_finite(values, 20, &finite);
    EXPECT_EQ(finite, 1);
    all_finite(bad, 20, &finite);
    EXPECT_EQ(finite, 0);
  }
}

}  // namespace
}  // namespace lockring
