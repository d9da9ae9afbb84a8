#include "ops/elementwise.h"

#include "core/autograd.h"
#include "ops/elementwise_kernel.h"
#include "tests/ops/instruction_sets.h"
#include "tests/support/device_test.h"
#include "tests/support/errors.h"
#include "tests/support/gradient_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lockring {
namespace {

using ElementwiseTest = DeviceTest;
LOCKRING_DEVICE_TESTS(ElementwiseTest);

TEST_P(ElementwiseTest, MatchesKnownValues) {
  const Tensor x = tensor({-2, -0.5F, 0, 0.5F, 2, 30}, {2, 3});
  expect_values(ops::relu(x), {0, 0, 0, 0.5F, 2, 30});
  expect_values(ops::gelu(x), {-0.0455003F, -0.1542688F, 0, 0.3457312F, 1.9544997F, 30}, 1e-7);
  expect_values(ops::silu(x), {-0.2384058F, -0.1887703F, 0, 0.3112297F, 1.7615942F, 30}, 1e-7);
  expect_values(ops::add(x, x), {-4, -1, 0, 1, 4, 60});
}

TEST_P(ElementwiseTest, FarFromZeroIsZeroOrTheInput) {
  const Tensor x = tensor({-1e30F, -200, 200, 1e30F}, {4});
  for (const auto& f : {ops::relu, ops::gelu, ops::silu}) expect_values(f(x), {0, 0, 200, 1e30F});
}

TEST_P(ElementwiseTest, NanPasses) {
  const Tensor x = Tensor::full({3}, std::numeric_limits<float>::quiet_NaN(), device());
  for (const Tensor& y :
       {ops::relu(x), ops::gelu(x), ops::silu(x), ops::add(x, Tensor::zeros({3}, DType::f32, device()))}) {
    const Tensor values = on_cpu(y);
    for (const float value : values.values()) EXPECT_TRUE(std::isnan(value));
  }
}

TEST_P(ElementwiseTest, GradientsMatchFiniteDifferences) {
  const Tensor x = random({3, 37}, 1, -4, 4);
  check_gradients([](auto x) { return ops::gelu(x[0]); }, {x});
  check_gradients([](auto x) { return ops::silu(x[0]); }, {x});
  check_gradients([](auto x) { return ops::add(x[0], x[1]); }, {random({2, 9}), random({2, 9}, 2)});
  check_gradients([](auto x) { return ops::relu(x[0]); }, {random({2, 9}, 1, 0.1F, 1)});
  check_gradients([](auto x) { return ops::relu(x[0]); }, {random({2, 9}, 1, -1, -0.1F)});
}

TEST_P(ElementwiseTest, AddGivesBothInputsAGradientOfTheirOwn) {
  const Leaf a(random({5}));
  const Leaf b(random({5}, 2));
  const Tensor gradient = random({5}, 3);
  backward(ops::add(ops::add(a.tensor(), b.tensor()), a.tensor()), gradient);
  expect_near(a.grad(), sum_of(gradient, gradient));
  expect_same_bits(b.grad(), gradient);
}

TEST_P(ElementwiseTest, OfNothingIsNothing) {
  const Tensor x = random({0, 3});
  for (const Tensor& y : {ops::relu(x), ops::gelu(x), ops::silu(x), ops::add(x, x)}) EXPECT_EQ(y.shape(), x.shape());
}

TEST_P(ElementwiseTest, AddRefusesShapesThatDiffer) {
  expect_error(ErrorCode::usage, "[2, 3] and [3, 2]", [] { ops::add(random({2, 3}), random({3, 2})); });
}

Tensor applied(OnCpu<UnaryFn>* f, const Tensor& x) {
  Tensor y = Tensor::empty(x.shape());
  f(x.data(), x.elements(), y.data());
  return y;
}

Tensor applied(OnCpu<UnaryGradientFn>* f, const Tensor& x, const Tensor& dy) {
  Tensor dx = Tensor::empty(x.shape());
  f(x.data(), dy.data(), x.elements(), dx.data());
  return dx;
}

TEST(Elementwise, BitsDoNotDependOnTheInstructionSet) {
  const Tensor x = random_tensor({1003}, 1, -15, 15);
  const Tensor dy = random_tensor({1003}, 2);
  const auto on_x = [&](auto* f) { return applied(f, x); };
  const auto on_both = [&](auto* f) { return applied(f, x, dy); };
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(relu), on_x);
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(gelu), on_x);
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(silu), on_x);
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(gelu_gradient), on_both);
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(silu_gradient), on_both);
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(add), on_both);
}

}  // namespace
}  // namespace lockring
