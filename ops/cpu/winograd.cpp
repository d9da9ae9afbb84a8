#include "ops/cpu/winograd.h"

#include "core/tensor.h"
#include "ops/cpu/brgemm.h"
#include "ops/cpu/winograd_kernel.h"

#include <algorithm>
#include <array>

namespace lockring::kernels::cpu {
namespace {

constexpr std::int64_t kLine = kWinogradResults + 2;
// A power of two between the points would put them all into the same few places of a cache.
constexpr std::int64_t kGap = 16;

// Tiles that are transformed at once.
constexpr std::int64_t kBlock = 16;
constexpr std::int64_t kWeightGradientBlock = 32;
constexpr std::int64_t kManyImages = 16;

// Values of all points of a block of tiles.
struct Points {
  Points(std::int64_t tiles, std::int64_t channels)
      : stride(tiles * channels + kGap), values(Tensor::empty({kWinogradPoints, stride})) {}
  float* begin() { return values.data(); }
  float* at(std::int64_t point) { return values.data() + point * stride; }

  std::int64_t stride;
  Tensor values;
};

WinogradTiles tiles_of(std::int64_t rows, std::int64_t columns, std::int64_t h, std::int64_t w, std::int64_t channels,
                       std::int64_t border) {
  return {.rows = (rows + kWinogradResults - 1) / kWinogradResults,
          .columns = (columns + kWinogradResults - 1) / kWinogradResults,
          .h = h,
          .w = w,
          .channels = channels,
          .border = border};
}
WinogradTiles input_tiles(const ConvShape& s) { return tiles_of(s.oh, s.ow, s.h, s.w, s.in, s.padding); }
WinogradTiles result_tiles(const ConvShape& s) { return tiles_of(s.oh, s.ow, s.oh, s.ow, s.out, 0); }

// Tiles at the same place of all images. The last row of points only serves a tile's last row of results; where that
// hangs over, these points are left out. So with columns.
struct Part {
  std::int64_t first_row = 0, first_column = 0, rows = 0, columns = 0;
  bool whole_rows = true, whole_columns = true;

  WinogradTiles of(WinogradTiles tiles) const {
    tiles.first_row = first_row;
    tiles.first_column = first_column;
    tiles.rows = rows;
    tiles.columns = columns;
    return tiles;
  }
  bool needs(std::int64_t point) const {
    return (whole_rows || point / kLine < kLine - 1) && (whole_columns || point % kLine < kLine - 1);
  }
};

// The tiles that hang over nowhere, to the right, at the bottom, and at both; some of these may be empty. Few images
// are one part, since every part reads all weights; the bits are the same.
std::array<Part, 4> parts_of(const WinogradTiles& results, std::int64_t images) {
  if (images < kManyImages) return {Part{.rows = results.rows, .columns = results.columns}};
  const std::int64_t rows = results.h / kWinogradResults;
  const std::int64_t columns = results.w / kWinogradResults;
  const std::int64_t more_rows = results.rows - rows;
  const std::int64_t more_columns = results.columns - columns;
  return {Part{0, 0, rows, columns, true, true}, Part{0, columns, rows, more_columns, true, false},
          Part{rows, 0, more_rows, columns, false, true}, Part{rows, columns, more_rows, more_columns, false, false}};
}

// The products of x with transformed weights, where x and the results are cut into the same number of tiles:
// finish(results, m, first, count) takes those of one block of a part's tiles after another.
template <class Finish>
void convolve(const WinogradTiles& x_tiles, const WinogradTiles& y_tiles, std::int64_t images, const float* x,
              const float* u, Finish finish) {
  const std::int64_t in = x_tiles.channels;
  const std::int64_t out = y_tiles.channels;
  Points v(kBlock, in);
  Points m(kBlock, out);
  for (const Part& part : parts_of(y_tiles, images)) {
    const WinogradTiles from = part.of(x_tiles);
    const WinogradTiles to = part.of(y_tiles);
    const std::int64_t tiles = images * from.image();
    for (std::int64_t first = 0; first < tiles; first += kBlock) {
      const std::int64_t count = std::min(kBlock, tiles - first);
      const Brgemm product(
          {.rows = count, .cols = out, .inner = in, .left_stride = in, .right_stride = out, .out_stride = out});
      kWinogradInput.on()(from, x, first, count, v.begin(), v.stride);
      for (std::int64_t point = 0; point < kWinogradPoints; ++point)
        if (part.needs(point)) product(v.at(point), u + point * (in * out + kGap), m.at(point));
      finish(to, m, first, count);
    }
  }
}

}  // namespace

bool has_winograd(const ConvShape& s) {
  return s.kh == 3 && s.kw == 3 && s.stride == 1 && s.in % kWinogradChannels == 0 && s.out % kWinogradChannels == 0;
}

bool is_winograd(const ConvShape& s) { return has_winograd(s) && s.oh >= kWinogradResults && s.ow >= kWinogradResults; }

std::int64_t winograd_floats(const ConvShape& s) { return kWinogradPoints * (s.in * s.out + kGap); }

void winograd_transform(const ConvShape& s, const float* taps, float* transformed) {
  const WinogradWeights weights{.rows = s.in, .columns = s.out, .tap_stride = s.in * s.out, .row_stride = s.out};
  kWinogradWeights.on()(weights, taps, false, transformed, s.in * s.out + kGap);
}

void winograd_forward(const ConvShape& s, const float* x, const float* transformed, const float* bias,
                      Activation activation, float* y) {
  convolve(input_tiles(s), result_tiles(s), s.n, x, transformed,
           [&](const WinogradTiles& to, Points& m, std::int64_t first, std::int64_t count) {
             kWinogradOutput.on()(to, m.begin(), m.stride, first, count, bias, activation, y);
           });
}

void winograd_pooled_forward(const ConvShape& s, const float* x, const float* transformed, const float* bias, float* y,
                             std::uint8_t* source) {
  convolve(input_tiles(s), result_tiles(s), s.n, x, transformed,
           [&](const WinogradTiles& to, Points& m, std::int64_t first, std::int64_t count) {
             kWinogradPool.on()(to, m.begin(), m.stride, first, count, bias, y, source);
           });
}

// The convolution of dy, in a border that makes it as large as x, with the turned weights.
void winograd_input_gradient(const ConvShape& s, const float* dy, const float* w, float* dx) {
  Points u(s.out, s.in);
  const WinogradWeights weights{.rows = s.out, .columns = s.in, .tap_stride = s.in, .row_stride = s.patch()};
  kWinogradWeights.on()(weights, w, true, u.begin(), u.stride);
  convolve(tiles_of(s.h, s.w, s.oh, s.ow, s.out, 2 - s.padding), tiles_of(s.h, s.w, s.h, s.w, s.in, 0), s.n, dy,
           u.begin(), [&](const WinogradTiles& to, Points& m, std::int64_t first, std::int64_t count) {
             kWinogradOutput.on()(to, m.begin(), m.stride, first, count, nullptr, Activation::none, dx);
           });
}

void winograd_weight_gradient(const ConvShape& s, const float* x, const float* dy, bool accumulate, float* dw) {
  Points v(kWeightGradientBlock, s.in);
  Points z(kWeightGradientBlock, s.out);
  Points du(s.out, s.in);
  std::fill_n(du.begin(), kWinogradPoints * du.stride, 0.0F);
  for (const Part& part : parts_of(result_tiles(s), s.n)) {
    const WinogradTiles from = part.of(input_tiles(s));
    const WinogradTiles to = part.of(result_tiles(s));
    const std::int64_t tiles = s.n * from.image();
    for (std::int64_t first = 0; first < tiles; first += kWeightGradientBlock) {
      const std::int64_t count = std::min(kWeightGradientBlock, tiles - first);
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
      for (std::int64_t point = 0; point < kWinogradPoints; ++point)
        if (part.needs(point)) product(z.at(point), v.at(point), du.at(point));
    }
  }
  const WinogradWeights weights{.rows = s.out, .columns = s.in, .tap_stride = s.in, .row_stride = s.patch()};
  kWinogradWeightGradient.on()(weights, du.begin(), du.stride, accumulate, dw);
}

}  // namespace lockring::kernels::cpu
