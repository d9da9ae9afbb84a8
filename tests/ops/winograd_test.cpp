// The tile transforms against convolution's definition, with plain sums between them.
#include "ops/cpu/winograd_kernel.h"
#include "tests/ops/instruction_sets.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

namespace lockring {
namespace {

constexpr std::int64_t kIn = 32;
constexpr std::int64_t kOut = 16;
constexpr std::int64_t kImages = 2;
constexpr std::int64_t kGap = 16;  // floats between one point's values and the next's

struct Plane {
  std::int64_t h, w, padding;

  std::int64_t oh() const { return h + 2 * padding - 2; }
  std::int64_t ow() const { return w + 2 * padding - 2; }
  WinogradTiles tiles() const {
    return {.rows = (oh() + kWinogradResults - 1) / kWinogradResults,
            .columns = (ow() + kWinogradResults - 1) / kWinogradResults,
            .h = h,
            .w = w,
            .channels = kIn,
            .border = padding};
  }
  WinogradTiles result_tiles() const {
    WinogradTiles t = tiles();
    t.h = oh();
    t.w = ow();
    t.channels = kOut;
    t.border = 0;
    return t;
  }
  std::int64_t count() const { return kImages * tiles().image(); }
  std::string name() const {
    return std::to_string(h) + " x " + std::to_string(w) + " with border " + std::to_string(padding);
  }
  Tensor x() const { return random_tensor({kImages, h, w, kIn}); }
  // Small, so that the sums over it are of about one.
  Tensor dy() const { return random_tensor({kImages, oh(), ow(), kOut}, 4, -0.25F, 0.25F); }
  Tensor y() const { return Tensor::empty({kImages, oh(), ow(), kOut}); }
};

// Whole tiles and such as hang over, borders, planes smaller than a tile.
const Plane kPlanes[] = {{6, 10, 0}, {7, 14, 1}, {3, 9, 0}, {1, 2, 1}, {5, 4, 2}, {3, 3, 2}};

Tensor weights() { return random_tensor({9, kIn, kOut}, 2); }

const WinogradWeights kWeights{.rows = kIn, .columns = kOut, .tap_stride = kIn * kOut, .row_stride = kOut};

// Calls f(image, row, column, tap, row of x, column of x) for all that meet.
template <class F>
void for_each_meeting(const Plane& p, F f) {
  for (std::int64_t n = 0; n < kImages; ++n)
    for (std::int64_t place = 0; place < p.oh() * p.ow(); ++place)
      for (std::int64_t tap = 0; tap < 9; ++tap) {
        const std::int64_t row = place / p.ow() + tap / 3 - p.padding;
        const std::int64_t column = place % p.ow() + tap % 3 - p.padding;
        if (row < 0 || column < 0 || row >= p.h || column >= p.w) continue;
        f((n * p.oh() * p.ow() + place) * kOut, tap, ((n * p.h + row) * p.w + column) * kIn);
      }
}

Tensor rounded(const std::vector<double>& values, const Shape& shape) {
  Tensor tensor = Tensor::empty(shape);
  std::ranges::transform(values, tensor.data(), [](double value) { return static_cast<float>(value); });
  return tensor;
}

Tensor convolution(const Plane& p, const Tensor& x, const Tensor& w) {
  std::vector<double> y(p.y().elements());
  for_each_meeting(p, [&](std::int64_t to, std::int64_t tap, std::int64_t from) {
    for (std::int64_t i = 0; i < kIn * kOut; ++i)
      y[to + i % kOut] += double{x.data()[from + i / kOut]} * w.data()[tap * kIn * kOut + i];
  });
  return rounded(y, p.y().shape());
}

Tensor convolution_weight_gradient(const Plane& p, const Tensor& x, const Tensor& dy) {
  std::vector<double> dw(9 * kIn * kOut);
  for_each_meeting(p, [&](std::int64_t to, std::int64_t tap, std::int64_t from) {
    for (std::int64_t i = 0; i < kIn * kOut; ++i)
      dw[tap * kIn * kOut + i] += double{x.data()[from + i / kOut]} * dy.data()[to + i % kOut];
  });
  return rounded(dw, {9, kIn, kOut});
}

// [points][count][channels] with a gap after each point.
struct Points {
  Points(const Plane& p, std::int64_t channels) : Points(kWinogradPoints, p.count() * channels) {}
  Points(std::int64_t points, std::int64_t floats)
      : stride(floats + kGap), tensor(Tensor::full({points, stride}, 7.0F)) {}
  float* data() { return tensor.data(); }
  const float* point(std::int64_t i) const { return tensor.data() + i * stride; }

  std::int64_t stride;
  Tensor tensor;
};

Points input_points(const Plane& p, const Tensor& x) {
  Points v(p, kIn);
  kWinogradInput.on()(p.tiles(), x.data(), 0, p.count(), v.data(), v.stride);
  return v;
}
Points gradient_points(const Plane& p, const Tensor& dy) {
  Points z(p, kOut);
  kWinogradResultGradient.on()(p.result_tiles(), dy.data(), 0, p.count(), z.data(), z.stride);
  return z;
}
Points weight_points(const Tensor& w, bool turned = false) {
  Points u(kWinogradPoints, kIn * kOut);
  kWinogradWeights.on()(kWeights, w.data(), turned, u.data(), u.stride);
  return u;
}

Points products(const Plane& p, const Points& v, const Points& u) {
  Points m(p, kOut);
  for (std::int64_t point = 0; point < kWinogradPoints; ++point)
    for (std::int64_t i = 0; i < p.count() * kOut; ++i) {
      double sum = 0;
      for (std::int64_t in = 0; in < kIn; ++in)
        sum += double{v.point(point)[i / kOut * kIn + in]} * u.point(point)[in * kOut + i % kOut];
      m.data()[point * m.stride + i] = static_cast<float>(sum);
    }
  return m;
}

TEST(Winograd, ResultIsTheConvolution) {
  for (const Plane& p : kPlanes) {
    const Tensor x = p.x();
    const Points m = products(p, input_points(p, x), weight_points(weights()));
    Tensor y = p.y();
    kWinogradOutput.on()(p.result_tiles(), m.point(0), m.stride, 0, p.count(), nullptr, Activation::none, y.data());
    expect_near(y, convolution(p, x, weights()), 1e-5, p.name());
  }
}

TEST(Winograd, WeightGradientIsTheConvolutions) {
  for (const Plane& p : kPlanes) {
    const Tensor x = p.x();
    const Tensor dy = p.dy();
    const Points v = input_points(p, x);
    const Points z = gradient_points(p, dy);
    Points du(kWinogradPoints, kIn * kOut);
    for (std::int64_t point = 0; point < kWinogradPoints; ++point)
      for (std::int64_t i = 0; i < kIn * kOut; ++i) {
        double sum = 0;
        for (std::int64_t tile = 0; tile < p.count(); ++tile)
          sum += double{v.point(point)[tile * kIn + i / kOut]} * z.point(point)[tile * kOut + i % kOut];
        du.data()[point * du.stride + i] = static_cast<float>(sum);
      }
    const Tensor expected = convolution_weight_gradient(p, x, dy);
    Tensor dw = Tensor::empty({9, kIn, kOut});
    kWinogradWeightGradient.on()(kWeights, du.point(0), du.stride, false, dw.data());
    expect_near(dw, expected, 1e-5, p.name());
    kWinogradWeightGradient.on()(kWeights, du.point(0), du.stride, true, dw.data());
    expect_near(dw, sum_of(expected, expected), 1e-5, p.name());
  }
}

TEST(Winograd, TurnedWeightsAreTakenFromTheLastTapOn) {
  const Tensor w = weights();
  Tensor turned = Tensor::empty(w.shape());
  for (std::int64_t tap = 0; tap < 9; ++tap) turned.slice(tap, tap + 1).copy_from(w.slice(8 - tap, 9 - tap));
  expect_same_bits(weight_points(w, true).tensor, weight_points(turned).tensor);
}

TEST(Winograd, OutputAddsTheBiasAndCutsButNotNaN) {
  const Plane p{4, 4, 1};
  const Tensor bias = random_tensor({kOut}, 3, -9, 9);
  const Tensor x = p.x();
  Points m = products(p, input_points(p, x), weight_points(weights()));
  m.data()[0] = std::numeric_limits<float>::quiet_NaN();
  Tensor plain = p.y();
  kWinogradOutput.on()(p.result_tiles(), m.data(), m.stride, 0, p.count(), nullptr, Activation::none, plain.data());
  Tensor y = p.y();
  kWinogradOutput.on()(p.result_tiles(), m.data(), m.stride, 0, p.count(), bias.data(), Activation::relu, y.data());
  for (std::int64_t i = 0; i < plain.elements(); ++i) {
    const float value = plain.data()[i] + bias.data()[i % kOut];
    plain.data()[i] = value < 0 ? 0 : value;
  }
  EXPECT_NE(y.data()[0], y.data()[0]);
  expect_same_bits(y, plain);
}

TEST(Winograd, AnyTilesAtOnceGiveTheSameBits) {
  for (const Plane& p : kPlanes) {
    const Tensor x = p.x();
    const Points whole = input_points(p, x);
    const Points m = products(p, whole, weight_points(weights()));
    Tensor y = p.y();
    kWinogradOutput.on()(p.result_tiles(), m.point(0), m.stride, 0, p.count(), nullptr, Activation::none, y.data());
    Tensor parts = p.y();
    for (std::int64_t tile = 0; tile < p.count(); ++tile) {
      Points v(kWinogradPoints, kIn);
      kWinogradInput.on()(p.tiles(), x.data(), tile, 1, v.data(), v.stride);
      for (std::int64_t point = 0; point < kWinogradPoints; ++point)
        ASSERT_TRUE(std::equal(v.point(point), v.point(point) + kIn, whole.point(point) + tile * kIn)) << p.name();
      kWinogradOutput.on()(p.result_tiles(), m.point(0) + tile * kOut, m.stride, tile, 1, nullptr, Activation::none,
                           parts.data());
    }
    expect_same_bits(parts, y, p.name());
  }
}

TEST(Winograd, SameBitsOnBothInstructionSets) {
  for (const Plane& p : kPlanes) {
    expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(winograd_input), [&](auto* kernel) {
      Points v(p, kIn);
      kernel(p.tiles(), p.x().data(), 0, p.count(), v.data(), v.stride);
      return v.tensor;
    });
    expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(winograd_result_gradient), [&](auto* kernel) {
      Points z(p, kOut);
      kernel(p.result_tiles(), p.dy().data(), 0, p.count(), z.data(), z.stride);
      return z.tensor;
    });
    expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(winograd_weights), [&](auto* kernel) {
      Points u(kWinogradPoints, kIn * kOut);
      kernel(kWeights, weights().data(), true, u.data(), u.stride);
      return u.tensor;
    });
    expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(winograd_output), [&](auto* kernel) {
      const Tensor m = random_tensor({kWinogradPoints, p.count() * kOut});
      Tensor y = p.y();
      kernel(p.result_tiles(), m.data(), p.count() * kOut, 0, p.count(), nullptr, Activation::relu, y.data());
      return y;
    });
    expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(winograd_weight_gradient), [&](auto* kernel) {
      const Tensor du = random_tensor({kWinogradPoints, kIn * kOut});
      Tensor dw = Tensor::zeros({9, kIn, kOut});
      kernel(kWeights, du.data(), kIn * kOut, true, dw.data());
      return dw;
    });
  }
}

}  // namespace
}  // namespace lockring
