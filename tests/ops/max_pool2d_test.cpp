#include "ops/max_pool2d.h"

#include "core/autograd.h"
#include "ops/max_pool2d_kernel.h"
#include "tests/ops/instruction_sets.h"
#include "tests/support/device_test.h"
#include "tests/support/errors.h"
#include "tests/support/gradient_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockring {
namespace {

using MaxPool2dTest = DeviceTest;
LOCKRING_DEVICE_TESTS(MaxPool2dTest);

// Values at least 0.1 apart, in an order that is not sorted: a finite step moves no maximum.
Tensor distinct(const Shape& shape) {
  Tensor x = Tensor::empty(shape);
  for (std::int64_t i = 0; i < x.elements(); ++i) x.data()[i] = 0.1F * static_cast<float>(i * 7919 % 10007 % 500);
  return x;
}

TEST_P(MaxPool2dTest, MatchesKnownValues) {
  const Tensor x = tensor({1, 5, 2, 0, 3, 4, 8, 6, 7, 9, 1, 1}, {1, 3, 4, 1});
  expect_values(ops::max_pool2d(x, 2, 2), {5, 8});
  expect_values(ops::max_pool2d(x, 2, 1), {5, 8, 8, 9, 9, 8});
  expect_values(ops::max_pool2d(x, 3, 1), {9, 9});
  expect_values(ops::max_pool2d(x, 1, 2), {1, 2, 7, 1});
}

TEST_P(MaxPool2dTest, EveryChannelHasItsOwnMaximum) {
  for (const std::int64_t channels : {1, 3, 8, 17, 40}) {
    const Tensor x = random_tensor({2, 5, 4, channels});
    const Tensor y = on_cpu(ops::max_pool2d(x.to(device()), 2, 2));
    ASSERT_EQ(y.shape(), Shape({2, 2, 2, channels}));
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const std::int64_t image = i / (4 * channels);
      const std::int64_t pixel = image * 20 + i / (2 * channels) % 2 * 8 + i / channels % 2 * 2;
      const float* first = x.data() + pixel * channels + i % channels;
      const float expected = std::max({first[0], first[channels], first[4 * channels], first[5 * channels]});
      EXPECT_EQ(y.data()[i], expected) << i << " of " << channels;
    }
  }
}

TEST_P(MaxPool2dTest, GradientMatchesFiniteDifferences) {
  for (const std::int64_t channels : {1, 3, 16, 19}) {
    check_gradients([](auto x) { return ops::max_pool2d(x[0], 2, 2); }, {distinct({2, 4, 4, channels}).to(device())});
    check_gradients([](auto x) { return ops::max_pool2d(x[0], 2, 2); }, {distinct({1, 5, 3, channels}).to(device())});
    check_gradients([](auto x) { return ops::max_pool2d(x[0], 3, 2); }, {distinct({2, 6, 5, channels}).to(device())});
    check_gradients([](auto x) { return ops::max_pool2d(x[0], 2, 3); }, {distinct({1, 6, 5, channels}).to(device())});
  }
}

TEST_P(MaxPool2dTest, TheFirstOfEqualMaximaGetsTheGradient) {
  const Leaf x(tensor({0, 7, 7, 7}, {1, 2, 2, 1}));
  backward(ops::max_pool2d(x.tensor(), 2, 2));
  expect_values(x.grad(), {0, 1, 0, 0});
}

TEST_P(MaxPool2dTest, NanPasses) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Tensor& x : {tensor({nan, 1, 2, 3}, {1, 2, 2, 1}), tensor({1, nan, 2, 3}, {1, 2, 2, 1})})
    EXPECT_TRUE(std::isnan(ops::max_pool2d(x, 2, 2).item()));
}

TEST_P(MaxPool2dTest, InfinitiesAreNumbers) {
  const float inf = std::numeric_limits<float>::infinity();
  const Leaf x(tensor({-inf, inf, -inf, -inf, 1, -inf, -inf, -inf}, {1, 2, 4, 1}));
  const Tensor y = ops::max_pool2d(x.tensor(), 2, 2);
  expect_same_bits(y, tensor({inf, -inf}, y.shape()));
  backward(y, tensor({2, 3}, {1, 1, 2, 1}));
  expect_values(x.grad(), {0, 2, 3, 0, 0, 0, 0, 0});
}

TEST_P(MaxPool2dTest, OfAnEmptyBatchIsEmpty) {
  EXPECT_EQ(ops::max_pool2d(random({0, 4, 4, 3}), 2, 2).shape(), Shape({0, 2, 2, 3}));
}

TEST_P(MaxPool2dTest, RefusesWhatDoesNotFit) {
  expect_error(ErrorCode::usage, "[4, 4]", [] { ops::max_pool2d(random({4, 4}), 2, 2); });
  expect_error(ErrorCode::usage, "5 x 5", [] { ops::max_pool2d(random({1, 8, 4, 1}), 5, 1); });
  expect_error(ErrorCode::usage, "stride 0", [] { ops::max_pool2d(random({1, 4, 4, 1}), 2, 0); });
  expect_error(ErrorCode::usage, "above 16", [] { ops::max_pool2d(random({1, 40, 40, 1}), 17, 1); });
}

TEST(MaxPool2d, BitsDoNotDependOnTheInstructionSet) {
  const PoolShape shape = pool_shape("max_pool2d", {2, 7, 6, 37}, 3, 2);
  const Tensor x = random_tensor(shape.input());
  const Tensor dy = random_tensor(shape.output(), 2);
  Tensor source = Tensor::empty(shape.output(), DType::u8);
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(max_pool), [&](auto* max_pool) {
    Tensor y = Tensor::empty(shape.output());
    max_pool(shape, x.data(), y.data(), source.data<std::uint8_t>());
    return y;
  });
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(max_pool_gradient), [&](auto* gradient) {
    Tensor dx = Tensor::empty(shape.input());
    gradient(shape, dy.data(), std::as_const(source).data<std::uint8_t>(), dx.data());
    return dx;
  });
}

}  // namespace
}  // namespace lockring
