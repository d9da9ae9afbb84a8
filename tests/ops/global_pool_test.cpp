#include "ops/global_pool.h"

#include "core/autograd.h"
#include "ops/global_pool_kernel.h"
#include "tests/ops/instruction_sets.h"
#include "tests/support/device_test.h"
#include "tests/support/errors.h"
#include "tests/support/gradient_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lockring {
namespace {

using GlobalPoolTest = DeviceTest;
LOCKRING_DEVICE_TESTS(GlobalPoolTest);

TEST_P(GlobalPoolTest, MatchesKnownValues) {
  const Tensor x = tensor({1, 40, 3, 10, 5, 20, 7, 30, -1, 0, -3, 0}, {2, 3, 1, 2});
  expect_values(ops::global_max_pool(x), {5, 40, 7, 30});
  expect_values(ops::global_avg_pool(x), {3, 70 / 3.0F, 1, 10});
  EXPECT_EQ(ops::global_max_pool(x).shape(), Shape({2, 2}));
}

TEST_P(GlobalPoolTest, FindsMaximaOfManyPixelsAndChannels) {
  const Tensor x = random_tensor({3, 20, 20, 37});
  const Tensor y = on_cpu(ops::global_max_pool(x.to(device())));
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const float* image = x.data() + i / 37 * 400 * 37;
    float expected = image[i % 37];
    for (std::int64_t pixel = 1; pixel < 400; ++pixel) expected = std::max(expected, image[pixel * 37 + i % 37]);
    EXPECT_EQ(y.data()[i], expected) << i;
  }
}

TEST_P(GlobalPoolTest, GradientMatchesFiniteDifferences) {
  Tensor distinct = Tensor::empty({2, 3, 4, 5});
  for (std::int64_t i = 0; i < distinct.elements(); ++i) distinct.data()[i] = 0.1F * static_cast<float>(i * 47 % 121);
  check_gradients([](auto x) { return ops::global_max_pool(x[0]); }, {distinct.to(device())});
  check_gradients([](auto x) { return ops::global_avg_pool(x[0]); }, {random({2, 3, 4, 5})});
}

TEST_P(GlobalPoolTest, TheFirstOfEqualMaximaGetsTheGradient) {
  const Leaf x(tensor({0, 7, 7, 7}, {1, 2, 2, 1}));
  backward(ops::global_max_pool(x.tensor()));
  expect_values(x.grad(), {0, 1, 0, 0});
}

TEST_P(GlobalPoolTest, NanPasses) {
  const Tensor x = tensor({1, std::numeric_limits<float>::quiet_NaN(), 2, 3}, {1, 2, 2, 1});
  EXPECT_TRUE(std::isnan(ops::global_max_pool(x).item()));
  EXPECT_TRUE(std::isnan(ops::global_avg_pool(x).item()));
}

TEST_P(GlobalPoolTest, OfAnEmptyBatchIsEmpty) {
  EXPECT_EQ(ops::global_max_pool(random({0, 4, 4, 3})).shape(), Shape({0, 3}));
  EXPECT_EQ(ops::global_avg_pool(random({0, 4, 4, 3})).shape(), Shape({0, 3}));
}

TEST_P(GlobalPoolTest, RefusesWhatHasNoPixels) {
  expect_error(ErrorCode::usage, "[1, 0, 4, 3]", [] { ops::global_max_pool(random({1, 0, 4, 3})); });
  expect_error(ErrorCode::usage, "[4, 3]", [] { ops::global_avg_pool(random({4, 3})); });
}

TEST(GlobalPool, BitsDoNotDependOnTheInstructionSet) {
  const GlobalPoolShape shape{3, 9, 37};
  const Tensor x = random_tensor({3, 9, 37});
  const Tensor dy = random_tensor({3, 37}, 2);
  Tensor source = Tensor::empty({3, 37}, DType::i32);
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(global_max_pool), [&](auto* pool) {
    Tensor y = Tensor::empty({3, 37});
    pool(shape, x.data(), y.data(), source.data<std::int32_t>());
    return y;
  });
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(global_max_pool_gradient), [&](auto* gradient) {
    Tensor dx = Tensor::empty(x.shape());
    gradient(shape, dy.data(), std::as_const(source).data<std::int32_t>(), dx.data());
    return dx;
  });
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(global_avg_pool), [&](auto* pool) {
    Tensor y = Tensor::empty({3, 37});
    pool(shape, x.data(), y.data());
    return y;
  });
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(global_avg_pool_gradient), [&](auto* gradient) {
    Tensor dx = Tensor::empty(x.shape());
    gradient(shape, dy.data(), dx.data());
    return dx;
  });
}

}  // namespace
}  // namespace lockring
