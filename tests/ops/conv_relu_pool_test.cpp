#include "ops/conv_relu_pool.h"

#include "core/autograd.h"
#include "ops/conv2d.h"
#include "tests/support/device_test.h"
#include "tests/support/errors.h"
#include "tests/support/gradient_check.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockring {
namespace {

using ConvReluPoolTest = DeviceTest;
LOCKRING_DEVICE_TESTS(ConvReluPoolTest);

struct Case {
  Shape x, w;
  std::int64_t padding = 0;
};

// The direct form, products by rows, patches; odd sizes, of which pooling drops a row or column; a border.
const Case kCases[] = {
    {{2, 28, 28, 1}, {32, 3, 3, 1}}, {{3, 7, 9, 1}, {16, 3, 3, 1}},    {{2, 13, 13, 32}, {64, 3, 3, 32}},
    {{2, 8, 8, 8}, {10, 3, 3, 8}},   {{2, 9, 7, 2}, {7, 5, 3, 2}},     {{2, 6, 6, 1}, {16, 3, 3, 1}, 1},
    {{2, 5, 5, 1}, {6, 5, 5, 1}, 2}, {{2, 6, 5, 9}, {17, 3, 3, 9}, 1},
};

Tensor pooled(const Tensor& result) {
  const Tensor z = on_cpu(result);
  const std::int64_t rows = z.size(1) / 2;
  const std::int64_t columns = z.size(2) / 2;
  Tensor y = Tensor::empty({z.size(0), rows, columns, z.size(3)});
  for (std::int64_t i = 0; i < y.elements(); ++i) {
    const std::int64_t channel = i % z.size(3);
    const std::int64_t column = i / z.size(3) % columns;
    const std::int64_t row = i / z.size(3) / columns;  // over all images
    const std::int64_t image = row / rows;
    float best = -std::numeric_limits<float>::infinity();
    for (int corner = 0; corner < 4; ++corner)
      best = std::max(
          best, z.data()[((image * z.size(1) + row % rows * 2 + corner / 2) * z.size(2) + column * 2 + corner % 2) *
                             z.size(3) +
                         channel]);
    y.data()[i] = best;
  }
  return y;
}

TEST_P(ConvReluPoolTest, IsTheTwoOpsBitForBit) {
  for (const Case& c : kCases) {
    const Tensor x = random(c.x);
    const Tensor w = random(c.w, 2);
    const Tensor b = random({c.w[0]}, 3);
    const Tensor z = ops::conv2d(x, w, b, {.padding = c.padding, .activation = Activation::relu});
    expect_same_bits(ops::conv_relu_pool(x, w, b, c.padding), pooled(z), to_string(c.x));
  }
}

// A bias that keeps clear of the kink, and places that differ by more than the step.
TEST_P(ConvReluPoolTest, GradientMatchesFiniteDifferences) {
  const Case cases[] = {{{2, 6, 6, 1}, {16, 3, 3, 1}}, {{2, 5, 4, 8}, {3, 3, 3, 8}}, {{1, 5, 5, 2}, {2, 2, 2, 2}, 1}};
  for (const Case& c : cases) {
    Tensor bias = random_tensor({c.w[0]}, 3);
    for (std::int64_t i = 0; i < bias.elements(); ++i) bias.data()[i] += i % 4 == 0 ? -40.0F : 40.0F;
    check_gradients([&](auto x) { return ops::conv_relu_pool(x[0], x[1], x[2], c.padding); },
                    {random(c.x, 1, -3, 3), random(c.w, 2, -3, 3), bias.to(device())},
                    {.step = 1e-3, .tolerance = 2e-2});
  }
}

TEST_P(ConvReluPoolTest, GivesTheGradientOfTiesToTheFirst) {
  Leaf x(Tensor::zeros({1, 4, 4, 8}, DType::f32, device()));
  Tensor w = Tensor::zeros({1, 3, 3, 8});
  w.data()[4 * 8] = 1;  // the centre tap of channel 0
  const Tensor y = ops::conv_relu_pool(x.tensor(), w.to(device()), tensor({1}, {1}));
  EXPECT_EQ(y.item(), 1);
  backward(y);
  const Tensor dx = on_cpu(x.grad());
  for (std::int64_t i = 0; i < dx.elements(); ++i) EXPECT_EQ(dx.data()[i], i == (4 + 1) * 8 ? 1 : 0);
}

TEST_P(ConvReluPoolTest, PassesNaN) {
  for (const std::int64_t channels : {1, 8}) {
    Tensor x = random_tensor({1, 4, 4, channels});
    x.data()[5 * channels] = std::numeric_limits<float>::quiet_NaN();
    const Tensor y = on_cpu(ops::conv_relu_pool(x.to(device()), random({16, 3, 3, channels}), random({16})));
    EXPECT_TRUE(std::ranges::all_of(y.values(), [](float v) { return std::isnan(v); }));
  }
}

TEST_P(ConvReluPoolTest, RefusesWhatLeavesNothing) {
  expect_error(ErrorCode::usage, "nothing to pool", [&] {
    ops::conv_relu_pool(random({1, 3, 5, 8}), random({2, 3, 3, 8}), random({2}));
  });
}

}  // namespace
}  // namespace lockring
