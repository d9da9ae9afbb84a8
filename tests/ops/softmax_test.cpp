#include "ops/softmax.h"

#include "ops/softmax_kernel.h"
#include "tests/ops/instruction_sets.h"
#include "tests/support/device_test.h"
#include "tests/support/errors.h"
#include "tests/support/gradient_check.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lockring {
namespace {

using SoftmaxTest = DeviceTest;
LOCKRING_DEVICE_TESTS(SoftmaxTest);

TEST_P(SoftmaxTest, MatchesKnownValues) {
  const float log2 = std::log(2.0F);
  const float log5 = std::log(5.0F);
  expect_values(ops::softmax(tensor({0, log2, log5, 0, 0, log2}, {2, 3})), {0.125F, 0.25F, 0.625F, 0.25F, 0.25F, 0.5F});
}

TEST_P(SoftmaxTest, OfHugeValuesIsSafe) {
  expect_values(ops::softmax(tensor({3e38F, -3e38F, 3e38F}, {1, 3})), {0.5F, 0, 0.5F});
}

TEST_P(SoftmaxTest, NanStaysInItsRow) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor y = on_cpu(ops::softmax(tensor({0, nan, nan, 0, 7, 7}, {3, 2})));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(y.data()[i])) << i;
  EXPECT_EQ(y.data()[4], 0.5F);
}

TEST_P(SoftmaxTest, GradientMatchesFiniteDifferences) {
  check_gradients([](auto x) { return ops::softmax(x[0]); }, {random({3, 7})});
  check_gradients([](auto x) { return ops::softmax(x[0]); }, {random({2, 33})});
}

TEST_P(SoftmaxTest, OfOneChannelIsOneAndOfNoRowsEmpty) {
  expect_values(ops::softmax(tensor({-5, 8}, {2, 1})), {1, 1});
  EXPECT_EQ(ops::softmax(random({0, 3})).shape(), Shape({0, 3}));
}

TEST_P(SoftmaxTest, RefusesWhatIsNotRows) {
  expect_error(ErrorCode::usage, "[2]", [] { ops::softmax(random({2})); });
  expect_error(ErrorCode::usage, "[2, 0]", [] { ops::softmax(random({2, 0})); });
}

TEST(Softmax, BitsDoNotDependOnTheInstructionSet) {
  const Tensor x = random_tensor({5, 77}, 1, -50, 50);
  const Tensor dy = random_tensor({5, 77}, 2);
  Tensor y = Tensor::empty(x.shape());
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(softmax), [&](auto* softmax) {
    softmax(x.data(), 5, 77, y.data());
    return y.clone();
  });
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(softmax_gradient), [&](auto* gradient) {
    Tensor dx = Tensor::empty(x.shape());
    gradient(y.data(), dy.data(), 5, 77, dx.data());
    return dx;
  });
}

}  // namespace
}  // namespace lockring
