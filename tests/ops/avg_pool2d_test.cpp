#include "ops/avg_pool2d.h"

#include "core/autograd.h"
#include "ops/avg_pool2d_kernel.h"
#include "tests/ops/instruction_sets.h"
#include "tests/support/device_test.h"
#include "tests/support/errors.h"
#include "tests/support/gradient_check.h"

#include <gtest/gtest.h>

namespace lockring {
namespace {

using AvgPool2dTest = DeviceTest;
LOCKRING_DEVICE_TESTS(AvgPool2dTest);

TEST_P(AvgPool2dTest, MatchesKnownValues) {
  const Tensor x = tensor({1, 5, 2, 0, 3, 3, 8, 6, 7, 9, 1, 1}, {1, 3, 4, 1});
  expect_values(ops::avg_pool2d(x, 2, 2), {3, 4});
  expect_values(ops::avg_pool2d(x, 2, 1), {3, 4.5F, 4, 5.5F, 5.25F, 4});
  expect_values(ops::avg_pool2d(x, 1, 2), {1, 2, 7, 1});
  const Tensor two = tensor({1, 10, 3, 30, 5, 50, 7, 70}, {1, 2, 2, 2});
  expect_values(ops::avg_pool2d(two, 2, 1), {4, 40});
}

TEST_P(AvgPool2dTest, GradientMatchesFiniteDifferences) {
  for (const std::int64_t channels : {1, 3, 16, 19}) {
    check_gradients([](auto x) { return ops::avg_pool2d(x[0], 2, 2); }, {random({2, 5, 4, channels})});
    check_gradients([](auto x) { return ops::avg_pool2d(x[0], 3, 2); }, {random({1, 6, 5, channels})});
    check_gradients([](auto x) { return ops::avg_pool2d(x[0], 2, 3); }, {random({1, 6, 5, channels})});
  }
}

TEST_P(AvgPool2dTest, OfAnEmptyBatchIsEmpty) {
  EXPECT_EQ(ops::avg_pool2d(random({0, 4, 5, 3}), 2, 2).shape(), Shape({0, 2, 2, 3}));
}

TEST_P(AvgPool2dTest, RefusesWhatDoesNotFit) {
  expect_error(ErrorCode::usage, "[4, 4]", [] { ops::avg_pool2d(random({4, 4}), 2, 2); });
  expect_error(ErrorCode::usage, "5 x 5", [] { ops::avg_pool2d(random({1, 4, 8, 1}), 5, 1); });
  expect_error(ErrorCode::usage, "kernel 0", [] { ops::avg_pool2d(random({1, 4, 4, 1}), 0, 1); });
}

TEST(AvgPool2d, BitsDoNotDependOnTheInstructionSet) {
  const PoolShape shape = pool_shape("avg_pool2d", {2, 7, 6, 37}, 3, 2);
  const Tensor x = random_tensor(shape.input());
  const Tensor dy = random_tensor(shape.output(), 2);
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(avg_pool), [&](auto* avg_pool) {
    Tensor y = Tensor::empty(shape.output());
    avg_pool(shape, x.data(), y.data());
    return y;
  });
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(avg_pool_gradient), [&](auto* gradient) {
    Tensor dx = Tensor::empty(shape.input());
    gradient(shape, dy.data(), dx.data());
    return dx;
  });
}

}  // namespace
}  // namespace lockring
