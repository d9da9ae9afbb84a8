#include "ops/conv_relu_pool.h"

#include "core/autograd.h"
#include "ops/conv2d.h"
#include "ops/conv_relu_pool_kernel.h"
#include "ops/cpu/winograd_kernel.h"
#include "ops/max_pool2d.h"
#include "tests/ops/instruction_sets.h"
#include "tests/support/device_test.h"
#include "tests/support/errors.h"
#include "tests/support/gradient_check.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace lockring {
namespace {

using ConvReluPoolTest = DeviceTest;
LOCKRING_DEVICE_TESTS(ConvReluPoolTest);

struct Case {
  Shape x, w;
  std::int64_t padding = 0;
};

// The direct form, products by rows, patches, Winograd's form; odd sizes, of which pooling drops a row or column; a
// border.
const Case kCases[] = {
    {{2, 28, 28, 1}, {32, 3, 3, 1}},     {{3, 7, 9, 1}, {16, 3, 3, 1}},    {{2, 13, 13, 32}, {64, 3, 3, 32}},
    {{2, 8, 8, 8}, {10, 3, 3, 8}},       {{2, 9, 7, 2}, {7, 5, 3, 2}},     {{2, 6, 6, 1}, {16, 3, 3, 1}, 1},
    {{2, 5, 5, 1}, {6, 5, 5, 1}, 2},     {{2, 6, 5, 9}, {17, 3, 3, 9}, 1}, {{3, 5, 9, 48}, {80, 3, 3, 48}, 1},
    {{17, 6, 7, 16}, {16, 3, 3, 16}, 1},
};

// Of a size that makes sums over them of about one, as those that layers begin with: rounding grows with the sums.
Tensor weights(const Case& c, Device device) {
  const float range = 3 / std::sqrt(static_cast<float>(c.w[1] * c.w[2] * c.w[3]));
  return random_tensor(c.w, 2, -range, range).to(device);
}

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
    const Tensor w = weights(c, device());
    const Tensor b = random({c.w[0]}, 3);
    const Tensor z = ops::conv2d(x, w, b, {.padding = c.padding, .activation = Activation::relu});
    expect_same_bits(ops::conv_relu_pool(x, w, b, c.padding), pooled(z), to_string(c.x));
  }
}

// What the leaves of two computations gathered.
void expect_near_gradients(const Leaf (&actual)[3], const Leaf (&expected)[3], const Case& c) {
  for (int i = 0; i < 3; ++i)
    expect_near(actual[i].grad(), expected[i].grad(), 1e-5, to_string(c.x) + " input " + std::to_string(i));
}

TEST_P(ConvReluPoolTest, GradientIsThatOfTheTwoOps) {
  for (const Case& c : kCases) {
    Leaf fused[3] = {Leaf(random(c.x)), Leaf(weights(c, device())), Leaf(random({c.w[0]}, 3))};
    Leaf apart[3] = {Leaf(random(c.x)), Leaf(weights(c, device())), Leaf(random({c.w[0]}, 3))};
    const Tensor y = ops::conv_relu_pool(fused[0].tensor(), fused[1].tensor(), fused[2].tensor(), c.padding);
    // Sums over all places of 17 images, of both signs: their rounding is that of the largest partial sum.
    const Tensor dy = random(y.shape(), 4, -0.5F, 0.5F);
    backward(y, dy);
    const Tensor z = ops::conv2d(apart[0].tensor(), apart[1].tensor(), apart[2].tensor(),
                                 {.padding = c.padding, .activation = Activation::relu});
    backward(ops::max_pool2d(z, 2, 2), dy);
    expect_near_gradients(fused, apart, c);
  }
}

// A bias that keeps clear of the kink, and places that differ by more than the step.
TEST_P(ConvReluPoolTest, GradientMatchesFiniteDifferences) {
  const Case cases[] = {{{2, 6, 6, 1}, {16, 3, 3, 1}},
                        {{2, 5, 4, 8}, {3, 3, 3, 8}},
                        {{1, 5, 5, 2}, {2, 2, 2, 2}, 1},
                        {{2, 4, 5, 16}, {16, 3, 3, 16}},
                        {{1, 3, 2, 16}, {16, 3, 3, 16}, 1}};
  for (const Case& c : cases) {
    Tensor bias = random_tensor({c.w[0]}, 3);
    for (std::int64_t i = 0; i < bias.elements(); ++i) bias.data()[i] += i % 4 == 0 ? -40.0F : 40.0F;
    check_gradients([&](auto x) { return ops::conv_relu_pool(x[0], x[1], x[2], c.padding); },
                    {random(c.x, 1, -3, 3), random(c.w, 2, -3, 3), bias.to(device())},
                    {.step = 1e-3, .tolerance = 2e-2});
  }
}

// y and dx are those of each image alone; dw gathers image after image.
TEST(ConvReluPool, BitsDependNeitherOnPackingNorOnTheBatch) {
  const Case c = {{7, 5, 9, 48}, {80, 3, 3, 48}, 1};
  const Tensor x = random_tensor(c.x);
  const Tensor dy = random_tensor({7, 2, 4, 80}, 3);
  Tensor packed;
  ops::pack_conv2d_weights(random_tensor(c.w, 2), 1, packed);
  const auto run = [&](Leaf& images, Leaf& w, const Tensor& gradient, const Tensor& form) {
    const Tensor y = ops::conv_relu_pool(images.tensor(), w.tensor(), Tensor::zeros({80}), c.padding, form);
    backward(y, gradient);
    return y;
  };
  Leaf whole(x);
  Leaf w(random_tensor(c.w, 2));
  const Tensor y = run(whole, w, dy, packed);
  expect_same_bits(ops::conv_relu_pool(x, random_tensor(c.w, 2), Tensor::zeros({80}), c.padding), y);  // no gradient
  Leaf w_again(random_tensor(c.w, 2));
  for (int n = 0; n < 7; ++n) {
    Leaf image(x.slice(n, n + 1));
    expect_same_bits(run(image, w_again, dy.slice(n, n + 1), {}), y.slice(n, n + 1));
    expect_same_bits(image.grad(), whole.grad().slice(n, n + 1));
  }
  expect_same_bits(w_again.grad(), w.grad());
}

TEST(ConvReluPool, PoolingBitsDoNotDependOnTheInstructionSet) {
  const WinogradTiles tiles = {.rows = 2, .columns = 1, .h = 6, .w = 4, .channels = 48, .border = 0};
  const Tensor m = random_tensor({36, 2, 48});
  const Tensor bias = random_tensor({48}, 2);
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(winograd_pool), [&](auto* pool) {
    Tensor y = Tensor::empty({3, 2, 48});
    std::vector<std::uint8_t> source(3 * 2 * 48);
    pool(tiles, m.data(), 2 * 48, 0, 2, bias.data(), y.data(), source.data());
    for (std::int64_t i = 0; i < y.elements(); ++i) y.data()[i] += 8.0F * static_cast<float>(source[i]);
    return y;
  });
}

TEST(ConvReluPool, GradientBitsDoNotDependOnTheInstructionSet) {
  const ConvShape s = {2, 6, 7, 48, 4, 4, 80, 3, 3, 1, 0};
  const Tensor x = random_tensor({2, 6, 7, 48});
  const Tensor w = random_tensor({80, 3, 3, 48}, 2);
  const Tensor dy = random_tensor({2, 2, 2, 80}, 3);
  Tensor source = Tensor::empty(dy.shape(), DType::u8);
  for (std::int64_t i = 0; i < dy.elements(); ++i) source.data<std::uint8_t>()[i] = i * 7919 % 10007 % (kNoSource + 1);
  const std::uint8_t* from = std::as_const(source).data<std::uint8_t>();
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(window_input_gradient), [&](auto* gradient) {
    std::vector<float> weights(80 * 9 * kWindowChannels);
    std::vector<std::uint64_t> masks(2 * 2 * 2 * 4 * 2);
    Tensor dx = Tensor::empty(x.shape());
    gradient(s, dy.data(), from, w.data(), weights.data(), masks.data(), dx.data());
    return dx;
  });
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(window_weight_gradient), [&](auto* gradient) {
    std::vector<float> values(2 * 2 * 80);
    std::vector<std::int32_t> inputs(2 * 2 * 80);
    Tensor dw = Tensor::empty(w.shape());
    gradient(s, x.data(), dy.data(), from, false, values.data(), inputs.data(), dw.data());
    return dw;
  });
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
    const auto all_nan = [](const Tensor& y) {
      const Tensor values = on_cpu(y);
      return std::ranges::all_of(values.values(), [](float v) { return std::isnan(v); });
    };
    const Tensor w = random({16, 3, 3, channels});
    EXPECT_TRUE(all_nan(ops::conv_relu_pool(x.to(device()), w, random({16}))));
    const Leaf leaf(w);
    EXPECT_TRUE(all_nan(ops::conv_relu_pool(x.to(device()), leaf.tensor(), random({16}))));
    clear_tape();
  }
}

// One pixel a weight, so that what is pooled is the image: all windows of these five values. Wide registers, and what
// is left of channels beside them.
TEST_P(ConvReluPoolTest, PoolsInfinitiesAndNaNAsMaxPoolingDoes) {
  const float inf = std::numeric_limits<float>::infinity();
  const float values[] = {-inf, -1, 2, inf, std::numeric_limits<float>::quiet_NaN()};
  Tensor images = Tensor::empty({625, 2, 2, 1});
  for (std::int64_t i = 0; i < 625; ++i)
    for (std::int64_t place = 0, rest = i; place < 4; ++place, rest /= 5)
      images.data()[i * 4 + place] = values[rest % 5];
  const Tensor x = images.to(device());
  const Tensor w = Tensor::full({19, 1, 1, 1}, 1).to(device());
  const Tensor b = random({19});
  const Tensor z = ops::conv2d(x, w, b, {.activation = Activation::relu});
  const Tensor expected = on_cpu(ops::max_pool2d(z, 2, 2));
  const Leaf recorded(x);
  for (const Tensor& found : {ops::conv_relu_pool(x, w, b), ops::conv_relu_pool(recorded.tensor(), w, b)}) {
    const Tensor y = on_cpu(found);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const float a = y.data()[i];
      const float e = expected.data()[i];
      ASSERT_TRUE(a == e || (std::isnan(a) && std::isnan(e))) << i << ": " << a << ", not " << e;
    }
  }
  clear_tape();
}

TEST_P(ConvReluPoolTest, RefusesWhatLeavesNothing) {
  expect_error(ErrorCode::usage, "nothing to pool", [&] {
    ops::conv_relu_pool(random({1, 3, 5, 8}), random({2, 3, 3, 8}), random({2}));
  });
}

}  // namespace
}  // namespace lockring
