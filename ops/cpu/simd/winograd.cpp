#include "ops/cpu/simd/winograd_lines.h"
#include "ops/cpu/winograd_kernel.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {
namespace {

constexpr int kLinePoints = 6;

// A tile of an image: where it begins, which may be outside.
struct Place {
  std::int64_t image, row, column;
};

LOCKRING_INLINE Place place_of(const WinogradTiles& t, std::int64_t tile) {
  const std::int64_t row = tile / t.columns;
  return {row / t.rows, (t.first_row + row % t.rows) * kWinogradResults - t.border,
          (t.first_column + tile % t.columns) * kWinogradResults - t.border};
}

// The places of an image, kSize in both directions, that a tile reads; zeros where they are outside.
template <int kSize>
struct Window {
  const float* rows[kSize];
  Keep inside[kSize];
  std::int64_t channels;
  std::int64_t left;   // where the tile begins in a row, in floats
  std::int64_t width;  // of a row, in floats
};

template <int kSize>
LOCKRING_INLINE Window<kSize> window_at(const WinogradTiles& t, const Place& place, const float* x) {
  Window<kSize> window;
#pragma GCC unroll 6
  for (int i = 0; i < kSize; ++i) {
    const std::int64_t row = place.row + i;
    const std::int64_t nearest = row < 0 ? 0 : row < t.h ? row : t.h - 1;
    window.rows[i] = x + (place.image * t.h + nearest) * t.w * t.channels;
    window.inside[i] = keep_if(row == nearest);
  }
  window.channels = t.channels;
  window.left = place.column * t.channels;
  window.width = t.w * t.channels;
  return window;
}

// One register of channels from `c` on, of one tile. A function of its own, since in the loops around it the addresses
// would crowd the registers.
template <int kFrom, int kTo, auto kLine>
__attribute__((noinline)) void transform_window(const Window<kFrom>& of, std::int64_t c, float* to,
                                                std::int64_t point_stride) {
  const Window<kFrom> window = of;  // stores might change the original
  transform_square<kFrom, kTo>(
      kLine,
      [&](int j, Vector* column) {
        const std::int64_t at = window.left + j * window.channels;
        if (at < 0 || at >= window.width) {
#pragma GCC unroll 6
          for (int i = 0; i < kFrom; ++i) column[i] = Vector{};
        } else {
#pragma GCC unroll 6
          for (int i = 0; i < kFrom; ++i) column[i] = load_kept(window.rows[i] + at + c, window.inside[i]);
        }
      },
      [&](int i, int j, Vector value) { store(to + (i * kTo + j) * point_stride, value); });
}

template <int kFrom, int kTo, auto kLine>
LOCKRING_INLINE void transform_windows(const WinogradTiles& t, const float* x, std::int64_t first, std::int64_t count,
                                       float* to, std::int64_t point_stride) {
  for (std::int64_t tile = first; tile < first + count; ++tile) {
    const Window<kFrom> window = window_at<kFrom>(t, place_of(t, tile), x);
    for (std::int64_t c = 0; c < t.channels; c += kLanes, to += kLanes)
      transform_window<kFrom, kTo, kLine>(window, c, to, point_stride);
  }
}

// Where one tile's results go: its first place, and how many rows and columns of it are inside.
struct Target {
  float* corner;
  std::int64_t row_stride, column_stride;
  std::int64_t rows, columns;
};

// One register of channels of one tile, as above.
__attribute__((noinline)) void output_tile(const float* m, std::int64_t point_stride, const Target& to, std::int64_t c,
                                           Vector bias, Vector floor) {
  const Target target = to;
  transform_square<kLinePoints, 4>(
      Winograd::output,
      [&](int j, Vector* column) {
#pragma GCC unroll 6
        for (int i = 0; i < kLinePoints; ++i) column[i] = load(m + (i * kLinePoints + j) * point_stride);
      },
      [&](int i, int j, Vector value) {
        value += bias;
        if (i < target.rows && j < target.columns)
          store(target.corner + i * target.row_stride + j * target.column_stride + c, value < floor ? floor : value);
      });
}

}  // namespace

void winograd_input(const WinogradTiles& tiles, const float* x, std::int64_t first, std::int64_t count, float* v,
                    std::int64_t point_stride) {
  transform_windows<6, 6, Winograd::input>(tiles, x, first, count, v, point_stride);
}

void winograd_weights(const WinogradWeights& s, const float* w, bool turned, float* u, std::int64_t point_stride) {
  const float* first = turned ? w + 8 * s.tap_stride : w;
  const std::int64_t step = turned ? -s.tap_stride : s.tap_stride;
  for (std::int64_t row = 0; row < s.rows; ++row)
    for (std::int64_t c = 0; c < s.columns; c += kLanes)
      transform_square<3, kLinePoints>(
          Winograd::weights,
          [&](int j, Vector* column) {
            for (int i = 0; i < 3; ++i) column[i] = load(first + (3 * i + j) * step + row * s.row_stride + c);
          },
          [&](int i, int j, Vector value) {
            store(u + (i * kLinePoints + j) * point_stride + row * s.columns + c, value);
          });
}

void winograd_output(const WinogradTiles& t, const float* m, std::int64_t point_stride, std::int64_t first,
                     std::int64_t count, const float* bias, Activation activation, float* y) {
  const Vector floor = broadcast(activation == Activation::relu ? 0.0F : -__builtin_inff());
  for (std::int64_t tile = first; tile < first + count; ++tile) {
    const Place place = place_of(t, tile);
    const Target target{y + ((place.image * t.h + place.row) * t.w + place.column) * t.channels, t.w * t.channels,
                        t.channels, t.h - place.row, t.w - place.column};
    for (std::int64_t c = 0; c < t.channels; c += kLanes, m += kLanes)
      output_tile(m, point_stride, target, c, bias == nullptr ? Vector{} : load(bias + c), floor);
  }
}

void winograd_result_gradient(const WinogradTiles& tiles, const float* dy, std::int64_t first, std::int64_t count,
                              float* z, std::int64_t point_stride) {
  transform_windows<4, 6, Winograd::result_gradient>(tiles, dy, first, count, z, point_stride);
}

void winograd_weight_gradient(const WinogradWeights& s, const float* du, std::int64_t point_stride, bool accumulate,
                              float* dw) {
  for (std::int64_t row = 0; row < s.rows; ++row)
    for (std::int64_t c = 0; c < s.columns; c += kLanes)
      transform_square<kLinePoints, 3>(
          Winograd::weight_gradient,
          [&](int j, Vector* column) {
#pragma GCC unroll 6
            for (int i = 0; i < kLinePoints; ++i)
              column[i] = load(du + (i * kLinePoints + j) * point_stride + row * s.columns + c);
          },
          [&](int i, int j, Vector value) {
            float* to = dw + (3 * i + j) * s.tap_stride + row * s.row_stride + c;
            store(to, accumulate ? load(to) + value : value);
          });
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
