#include "ops/cpu/winograd.h"

#include "core/tensor.h"
#include "ops/cpu/brgemm.h"
#include "ops/cpu/winograd_kernel.h"

#include <algorithm>

namespace lockring::kernels::cpu {
namespace {

constexpr std::int64_t kResults = 4;
constexpr std::int64_t kPoints = (kResults + 2) * (kResults + 2);
// A power of two between the points would put them all into the same few places of a cache.
constexpr std::int64_t kGap = 16;

// Tiles that are transformed at once.
constexpr std::int64_t kBlock = 16;
constexpr std::int64_t kWeightGradientBlock = 32;

// Values of all points of a block of tiles.
struct Points {
  Points(std::int64_t tiles, std::int64_t channels)
      : stride(tiles * channels + kGap), values(Tensor::empty({kPoints, stride})) {}
  float* begin() { return values.data(); }
  float* at(std::int64_t point) { return values.data() + point * stride; }

  std::int64_t stride;
  Tensor values;
};

WinogradTiles tiles_of(std::int64_t rows, std::int64_t columns, std::int64_t h, std::int64_t w, std::int64_t channels,
                       std::int64_t border) {
  return {.results = kResults,
          .rows = (rows + kResults - 1) / kResults,
          .columns = (columns + kResults - 1) / kResults,
          .h = h,
          .w = w,
          .channels = channels,
          .border = border};
}
WinogradTiles input_tiles(const ConvShape& s) { return tiles_of(s.oh, s.ow, s.h, s.w, s.in, s.padding); }
WinogradTiles result_tiles(const ConvShape& s) { return tiles_of(s.oh, s.ow, s.oh, s.ow, s.out, 0); }

// The products of x, cut into tiles, with transformed weights: finish(m, first, count) takes those of one block of
// tiles after another.
template <class Finish>
void convolve(const WinogradTiles& tiles, std::int64_t images, std::int64_t out, const float* x, const float* u,
              Finish finish) {
  const std::int64_t total = images * tiles.image();
  const std::int64_t block = std::min(total, kBlock);
  Points v(block, tiles.channels);
  Points m(block, out);
  for (std::int64_t first = 0; first < total; first += block) {
    const std::int64_t count = std::min(block, total - first);
    const Brgemm product({.rows = count,
                          .cols = out,
                          .inner = tiles.channels,
                          .left_stride = tiles.channels,
                          .right_stride = out,
                          .out_stride = out});
    kWinogradInput.on()(tiles, x, first, count, v.begin(), v.stride);
    for (std::int64_t point = 0; point < kPoints; ++point)
      product(v.at(point), u + point * (tiles.channels * out + kGap), m.at(point));
    finish(m, first, count);
  }
}

}  // namespace

bool has_winograd(const ConvShape& s) {
  return s.kh == 3 && s.kw == 3 && s.stride == 1 && s.in % kWinogradChannels == 0 && s.out % kWinogradChannels == 0;
}

bool is_winograd(const ConvShape& s) { return has_winograd(s) && s.oh >= kResults && s.ow >= kResults; }

std::int64_t winograd_floats(const ConvShape& s) { return kPoints * (s.in * s.out + kGap); }

void winograd_transform(const ConvShape& s, const float* taps, float* transformed) {
  const WinogradWeights weights{
      .results = kResults, .rows = s.in, .columns = s.out, .tap_stride = s.in * s.out, .row_stride = s.out};
  kWinogradWeights.on()(weights, taps, false, transformed, s.in * s.out + kGap);
}

void winograd_forward(const ConvShape& s, const float* x, const float* transformed, const float* bias,
                      Activation activation, float* y) {
  convolve(input_tiles(s), s.n, s.out, x, transformed, [&](Points& m, std::int64_t first, std::int64_t count) {
    kWinogradOutput.on()(result_tiles(s), m.begin(), m.stride, first, count, bias, activation, y);
  });
}

void winograd_pooled_forward(const ConvShape& s, const float* x, const float* transformed, const float* bias, float* y,
                             std::uint8_t* source) {
  convolve(input_tiles(s), s.n, s.out, x, transformed, [&](Points& m, std::int64_t first, std::int64_t count) {
    kWinogradPool.on()(result_tiles(s), m.begin(), m.stride, first, count, bias, y, source);
  });
}

// The convolution of dy, in a border that makes it as large as x, with the turned weights.
void winograd_input_gradient(const ConvShape& s, const float* dy, const float* w, float* dx) {
  Points u(s.out, s.in);
  const WinogradWeights weights{
      .results = kResults, .rows = s.out, .columns = s.in, .tap_stride = s.in, .row_stride = s.patch()};
  kWinogradWeights.on()(weights, w, true, u.begin(), u.stride);
  const WinogradTiles to = tiles_of(s.h, s.w, s.h, s.w, s.in, 0);
  convolve(tiles_of(s.h, s.w, s.oh, s.ow, s.out, 2 - s.padding), s.n, s.in, dy, u.begin(),
           [&](Points& m, std::int64_t first, std::int64_t count) {
             kWinogradOutput.on()(to, m.begin(), m.stride, first, count, nullptr, Activation::none, dx);
           });
}

void winograd_weight_gradient(const ConvShape& s, const float* x, const float* dy, bool accumulate, float* dw) {
  const WinogradTiles from = input_tiles(s);
  const WinogradTiles to = result_tiles(s);
  const std::int64_t tiles = s.n * from.image();
  const std::int64_t block = std::min(tiles, kWeightGradientBlock);
  Points v(block, s.in);
  Points z(block, s.out);
  Points du(s.out, s.in);
  std::fill_n(du.begin(), kPoints * du.stride, 0.0F);
  for (std::int64_t first = 0; first < tiles; first += block) {
    const std::int64_t count = std::min(block, tiles - first);
    const Brgemm product({.rows = s.out,
                          .cols = s.in,
                          .inner = count,
                          .left_stride = s.out,
                          .right_stride = s.in,
                          .out_stride = s.in,
                          .left_transposed = true,
                          .accumulate = true});
    kWinogradInput.on()(from, x, first, count, v.begin(), v.stride);
    kWinogradResultGradient.on()(to, dy, first, count, z.begin(), z.stride);
    for (std::int64_t point = 0; point < kPoints; ++point) product(z.at(point), v.at(point), du.at(point));
  }
  const WinogradWeights weights{
      .results = kResults, .rows = s.out, .columns = s.in, .tap_stride = s.in, .row_stride = s.patch()};
  kWinogradWeightGradient.on()(weights, du.begin(), du.stride, accumulate, dw);
}

}  // namespace lockring::kernels::cpu
