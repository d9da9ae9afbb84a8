#include "ops/conv2d.h"

#include "ops/conv_relu_pool.h"
#include "ops/cpu/conv2d_direct_kernel.h"
#include "ops/cpu/winograd.h"
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

using Conv2dTest = DeviceTest;
LOCKRING_DEVICE_TESTS(Conv2dTest);

// The definition, in double precision.
Tensor by_definition(const Tensor& images, const Tensor& weights, const Tensor& bias, std::int64_t stride,
                     std::int64_t padding) {
  const Tensor x = on_cpu(images);
  const Tensor w = on_cpu(weights);
  const Tensor b = on_cpu(bias);
  const std::int64_t oh = (x.size(1) + 2 * padding - w.size(1)) / stride + 1;
  const std::int64_t ow = (x.size(2) + 2 * padding - w.size(2)) / stride + 1;
  Tensor y = Tensor::empty({x.size(0), oh, ow, w.size(0)});
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const std::int64_t out = i % w.size(0);
    const std::int64_t c = i / w.size(0) % ow;
    const std::int64_t r = i / w.size(0) / ow % oh;
    const std::int64_t n = i / w.size(0) / ow / oh;
    double sum = b.data()[out];
    for (std::int64_t k = 0; k < w.elements() / w.size(0); ++k) {
      const std::int64_t in = k % x.size(3);
      const std::int64_t column = c * stride + k / x.size(3) % w.size(2) - padding;
      const std::int64_t row = r * stride + k / x.size(3) / w.size(2) - padding;
      if (row < 0 || column < 0 || row >= x.size(1) || column >= x.size(2)) continue;
      sum += double{x.data()[((n * x.size(1) + row) * x.size(2) + column) * x.size(3) + in]} *
             w.data()[out * (w.elements() / w.size(0)) + k];
    }
    y.data()[i] = static_cast<float>(sum);
  }
  return y;
}

struct Case {
  Shape x, w;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
};

// Rows, images, patches, directly and by Winograd's tiles: each way to compute it, with strides, borders and sizes that
// fit no register or tile.
const Case kCases[] = {
    {{2, 13, 13, 32}, {64, 3, 3, 32}},     {{9, 5, 5, 16}, {20, 3, 3, 16}},
    {{2, 6, 7, 1}, {5, 3, 2, 1}},          {{3, 8, 9, 3}, {17, 5, 3, 3}, 2, 1},
    {{2, 9, 8, 8}, {10, 3, 3, 8}, 2, 1},   {{12, 7, 7, 9}, {8, 3, 3, 9}, 1, 1},
    {{9, 6, 6, 8}, {8, 2, 2, 8}, 2, 0},    {{1, 1, 1, 8}, {3, 1, 1, 8}},
    {{2, 5, 5, 4}, {6, 5, 5, 4}, 1, 2},    {{5, 4, 4, 8}, {7, 4, 4, 8}},
    {{3, 6, 9, 1}, {16, 3, 3, 1}, 1, 1},   {{2, 5, 5, 1}, {48, 3, 3, 1}},
    {{5, 7, 7, 64}, {64, 3, 3, 64}, 1, 1}, {{2, 14, 14, 16}, {32, 3, 3, 16}, 1, 1},
    {{3, 4, 9, 16}, {16, 3, 3, 16}, 1, 2}, {{17, 7, 6, 16}, {16, 3, 3, 16}, 1, 1},
};

// Of a size that makes sums over them of about one, as those that layers begin with: rounding grows with the sums.
Tensor weights(const Shape& shape) {
  const float range = 3 / std::sqrt(static_cast<float>(shape.elements() / shape[0]));
  return random_tensor(shape, 2, -range, range);
}

TEST_P(Conv2dTest, MatchesTheDefinition) {
  for (const Case& c : kCases) {
    const Tensor x = random(c.x);
    const Tensor w = weights(c.w).to(device());
    const Tensor b = random({c.w[0]}, 3);
    const Tensor y = ops::conv2d(x, w, b, {.stride = c.stride, .padding = c.padding});
    expect_near(y, by_definition(x, w, b, c.stride, c.padding), 1e-5, to_string(c.x) + " * " + to_string(c.w));
  }
}

TEST_P(Conv2dTest, GradientMatchesFiniteDifferences) {
  const Case cases[] = {
      {{2, 4, 5, 8}, {3, 3, 3, 8}},       {{6, 4, 4, 8}, {2, 3, 3, 8}},  // by rows, by images
      {{2, 5, 4, 2}, {3, 3, 2, 2}},       {{2, 5, 6, 8}, {2, 3, 3, 8}, 2, 1},  {{5, 5, 5, 8}, {2, 3, 3, 8}, 2, 1},
      {{1, 5, 5, 1}, {2, 3, 3, 1}, 2, 1}, {{2, 3, 6, 1}, {16, 3, 3, 1}, 1, 1}, {{2, 4, 5, 16}, {16, 3, 3, 16}, 1, 1},
  };
  for (const Case& c : cases)
    check_gradients([&](auto x) { return ops::conv2d(x[0], x[1], x[2], {.stride = c.stride, .padding = c.padding}); },
                    {random(c.x), random(c.w, 2), random({c.w[0]}, 3)});
}

TEST_P(Conv2dTest, ReluStopsTheGradientWhereItCuts) {
  const Tensor bias = tensor({20, -20}, {2});
  check_gradients([&](auto x) { return ops::conv2d(x[0], x[1], bias, {.activation = Activation::relu}); },
                  {random({2, 4, 4, 8}), random({2, 3, 3, 8}, 2)});
}

TEST(Conv2d, BitsDependNeitherOnPackingNorOnTheBatch) {
  for (const Case& c : kCases) {
    const Tensor x = random_tensor(c.x);
    const Tensor w = random_tensor(c.w, 2);
    Tensor packed;
    ops::pack_conv2d_weights(w, c.stride, packed);
    const ops::Conv2dOptions options{.stride = c.stride, .padding = c.padding};
    const Tensor y = ops::conv2d(x, w, {}, options, packed);
    expect_same_bits(ops::conv2d(x, w, {}, options), y);
    expect_same_bits(ops::conv2d(x.slice(0, 1), w, {}, options), y.slice(0, 1));
  }
}

TEST(Conv2d, DirectBitsDoNotDependOnTheInstructionSet) {
  const ConvShape shape{
      .n = 2, .h = 6, .w = 9, .in = 1, .oh = 4, .ow = 7, .out = 32, .kh = 3, .kw = 3, .stride = 1, .padding = 0};
  const Tensor x = random_tensor({2, 6, 9, 1}), packed = random_tensor({9, 32}, 2),
               dy = random_tensor({2, 4, 7, 32}, 3);
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(conv2d_direct), [&](auto* run) {
    Tensor y = Tensor::empty(dy.shape());
    run(shape, x.data(), packed.data(), y.data());
    return y;
  });
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(conv2d_direct_weight_gradient), [&](auto* run) {
    Tensor dw = Tensor::empty({9, 32});
    run(shape, x.data(), dy.data(), dw.data());
    return dw;
  });
}

TEST(Conv2d, BitsOfWinogradsInputGradientDoNotDependOnTheBatch) {
  for (const Case& c : kCases) {
    const Tensor x = random_tensor(c.x);
    const Tensor w = random_tensor(c.w, 2);
    ConvShape shape = ops::conv_shape("conv2d", x, w, {}, c.stride, c.padding);
    if (!kernels::cpu::is_winograd(shape)) continue;
    const Tensor dy = random_tensor({shape.n, shape.oh, shape.ow, shape.out}, 3);
    Tensor dx = Tensor::empty(x.shape());
    kConv2dInputGradient.on()(shape, dy.data(), w.data(), dx.data());
    Tensor last = Tensor::empty(x.slice(0, 1).shape());
    shape.n = 1;
    kConv2dInputGradient.on()(shape, dy.slice(dy.size(0) - 1, dy.size(0)).data(), w.data(), last.data());
    expect_same_bits(last, dx.slice(x.size(0) - 1, x.size(0)), to_string(c.x));
  }
}

// Images of a number of floats that moves all but the first away from what tensor cores read at once.
TEST_P(Conv2dTest, TakesViewsThatBeginAnywhere) {
  const Tensor x = random({3, 5, 5, 1});
  const Tensor w = random({7, 3, 3, 1}, 2);
  const Tensor b = random({7}, 3);
  const Tensor y = ops::conv2d(x, w, b);
  expect_near(ops::conv2d(x.slice(1, 3), w.slice(1, 5), b.slice(1, 5)),
              by_definition(x.slice(1, 3), w.slice(1, 5), b.slice(1, 5), 1, 0));
  check_gradients([&](auto in) { return ops::conv2d(x.slice(1, 2), in[0]); }, {w.slice(1, 2)});
  expect_near(y.slice(1, 3), ops::conv2d(x.slice(1, 3), w, b));
}

TEST_P(Conv2dTest, AnEmptyBatchIsAllowed) {
  EXPECT_EQ(ops::conv2d(random({0, 5, 5, 8}), random({4, 3, 3, 8})).shape(), Shape({0, 3, 3, 4}));
  check_gradients([](auto x) { return ops::conv2d(x[0], x[1]); }, {random({0, 5, 5, 8}), random({2, 3, 3, 8})});
  check_gradients([](auto x) { return ops::conv2d(x[0], x[1]); }, {random({0, 5, 5, 1}), random({2, 3, 3, 1})});
  check_gradients([](auto x) { return ops::conv2d(x[0], x[1]); }, {random({0, 5, 5, 1}), random({16, 3, 3, 1})});
}

TEST_P(Conv2dTest, PassesNaNThroughRelu) {
  Tensor x = random_tensor({1, 3, 3, 8});
  x.data()[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(
      std::isnan(ops::conv2d(x.to(device()), random({1, 3, 3, 8}), {}, {.activation = Activation::relu}).item()));
}

TEST_P(Conv2dTest, RefusesShapesThatDoNotFit) {
  expect_error(ErrorCode::usage, "[1, 4, 4, 3]", [&] { ops::conv2d(random({1, 4, 4, 3}), random({2, 3, 3, 4})); });
  expect_error(ErrorCode::usage, "kernel of 5 x 5", [&] { ops::conv2d(random({1, 4, 4, 3}), random({2, 5, 5, 3})); });
  expect_error(ErrorCode::usage, "stride 0", [&] {
    ops::conv2d(random({1, 4, 4, 3}), random({2, 3, 3, 3}), {}, {.stride = 0});
  });
  expect_error(ErrorCode::usage, "bias [3]", [&] {
    ops::conv2d(random({1, 4, 4, 3}), random({2, 3, 3, 3}), random({3}));
  });
  // All border: there is nothing to read beside it.
  expect_error(ErrorCode::usage, "[1, 0, 4, 16] has no pixels", [&] {
    ops::conv2d(random({1, 0, 4, 16}), random({16, 3, 3, 16}), {}, {.padding = 4});
  });
}

TEST(Conv2d, RefusesPackedWeightsOfAnotherSize) {
  const Tensor x = random_tensor({1, 4, 4, 16});
  const Tensor w = random_tensor({16, 3, 3, 16});
  Tensor strided;  // has no transformed weights
  ops::pack_conv2d_weights(w, 2, strided);
  expect_error(ErrorCode::usage, "packed weights of shape [2304]", [&] { ops::conv2d(x, w, {}, {}, strided); });
  expect_error(ErrorCode::usage, "packed weights of shape [2304]",
               [&] { ops::conv_relu_pool(x, w, random_tensor({16}), 0, strided); });
}

}  // namespace
}  // namespace lockring
