#include "ops/cpu/simd/winograd_lines.h"
#include "ops/cpu/winograd_kernel.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {
namespace {

constexpr float kZeros[kLanes] = {};

// A tile of an image: where it begins, which may be outside.
struct Place {
  std::int64_t image, row, column;
};

LOCKRING_INLINE Place place_of(const WinogradTiles& t, std::int64_t tile) {
  const std::int64_t row = tile / t.columns;
  return {row / t.rows, row % t.rows * t.results - t.border, tile % t.columns * t.results - t.border};
}

// kSize rows of an image from a place on, zeros where they are outside.
template <int kSize>
struct Rows {
  const float* begin[kSize];
  std::int64_t inside[kSize];  // all bits set or none, for offsets within a row
  std::int64_t column;
};

template <int kSize>
LOCKRING_INLINE Rows<kSize> rows_of(const WinogradTiles& t, const float* x, std::int64_t tile) {
  const Place place = place_of(t, tile);
  Rows<kSize> rows;
  rows.column = place.column;
  for (int i = 0; i < kSize; ++i) {
    const std::int64_t row = place.row + i;
    const bool inside = row >= 0 && row < t.h;
    rows.inside[i] = inside ? -1 : 0;
    rows.begin[i] = inside ? x + (place.image * t.h + row) * t.w * t.channels : kZeros;
  }
  return rows;
}

template <int kSize>
LOCKRING_INLINE void read_column(const WinogradTiles& t, const Rows<kSize>& rows, int j, std::int64_t c, Vector* to) {
  const std::int64_t column = rows.column + j;
  if (column < 0 || column >= t.w) {
    for (int i = 0; i < kSize; ++i) to[i] = Vector{};
  } else {
#pragma GCC unroll 6
    for (int i = 0; i < kSize; ++i) to[i] = load(rows.begin[i] + ((column * t.channels + c) & rows.inside[i]));
  }
}

template <int kFrom, int kTo, class Line>
LOCKRING_INLINE void transform_tiles(const WinogradTiles& t, Line line, const float* x, std::int64_t first,
                                     std::int64_t count, float* to, std::int64_t point_stride) {
  for (std::int64_t tile = 0; tile < count; ++tile, to += t.channels) {
    const Rows<kFrom> rows = rows_of<kFrom>(t, x, first + tile);
    for (std::int64_t c = 0; c < t.channels; c += kLanes)
      transform_square<kFrom, kTo>(
          line, [&](int j, Vector* column) { read_column(t, rows, j, c, column); },
          [&](int i, int j, Vector value) { store(to + (i * kTo + j) * point_stride + c, value); });
  }
}

template <int kResults>
LOCKRING_INLINE void output(const WinogradTiles& t, const float* m, std::int64_t point_stride, std::int64_t first,
                            std::int64_t count, const float* bias, Vector floor, float* y) {
  constexpr int kPoints = Winograd<kResults>::kPoints;
  for (std::int64_t tile = 0; tile < count; ++tile, m += t.channels) {
    const Place place = place_of(t, first + tile);
    float* corner = y + ((place.image * t.h + place.row) * t.w + place.column) * t.channels;
    const std::int64_t rows = t.h - place.row;
    const std::int64_t columns = t.w - place.column;
    for (std::int64_t c = 0; c < t.channels; c += kLanes) {
      const Vector shift = bias == nullptr ? Vector{} : load(bias + c);
      transform_square<kPoints, kResults>(
          Winograd<kResults>::output,
          [&](int j, Vector* column) {
#pragma GCC unroll 6
            for (int i = 0; i < kPoints; ++i) column[i] = load(m + (i * kPoints + j) * point_stride + c);
          },
          [&](int i, int j, Vector value) {
            value += shift;
            if (i < rows && j < columns) store(corner + (i * t.w + j) * t.channels + c, value < floor ? floor : value);
          });
    }
  }
}

template <int kResults>
LOCKRING_INLINE void weights(const WinogradWeights& s, const float* w, bool turned, float* u,
                             std::int64_t point_stride) {
  constexpr int kPoints = Winograd<kResults>::kPoints;
  const float* first = turned ? w + 8 * s.tap_stride : w;
  const std::int64_t step = turned ? -s.tap_stride : s.tap_stride;
  for (std::int64_t row = 0; row < s.rows; ++row)
    for (std::int64_t c = 0; c < s.columns; c += kLanes)
      transform_square<3, kPoints>(
          Winograd<kResults>::weights,
          [&](int j, Vector* column) {
            for (int i = 0; i < 3; ++i) column[i] = load(first + (3 * i + j) * step + row * s.row_stride + c);
          },
          [&](int i, int j, Vector value) {
            store(u + (i * kPoints + j) * point_stride + row * s.columns + c, value);
          });
}

template <int kResults>
LOCKRING_INLINE void weight_gradient(const WinogradWeights& s, const float* du, std::int64_t point_stride,
                                     bool accumulate, float* dw) {
  constexpr int kPoints = Winograd<kResults>::kPoints;
  for (std::int64_t row = 0; row < s.rows; ++row)
    for (std::int64_t c = 0; c < s.columns; c += kLanes)
      transform_square<kPoints, 3>(
          Winograd<kResults>::weight_gradient,
          [&](int j, Vector* column) {
#pragma GCC unroll 6
            for (int i = 0; i < kPoints; ++i)
              column[i] = load(du + (i * kPoints + j) * point_stride + row * s.columns + c);
          },
          [&](int i, int j, Vector value) {
            float* to = dw + (3 * i + j) * s.tap_stride + row * s.row_stride + c;
            store(to, accumulate ? load(to) + value : value);
          });
}

}  // namespace

void winograd_input(const WinogradTiles& tiles, const float* x, std::int64_t first, std::int64_t count, float* v,
                    std::int64_t point_stride) {
  if (tiles.results == 2) {
    transform_tiles<4, 4>(tiles, Winograd<2>::input, x, first, count, v, point_stride);
  } else {
    transform_tiles<6, 6>(tiles, Winograd<4>::input, x, first, count, v, point_stride);
  }
}

void winograd_weights(const WinogradWeights& shape, const float* w, bool turned, float* u, std::int64_t point_stride) {
  if (shape.results == 2) {
    weights<2>(shape, w, turned, u, point_stride);
  } else {
    weights<4>(shape, w, turned, u, point_stride);
  }
}

void winograd_output(const WinogradTiles& tiles, const float* m, std::int64_t point_stride, std::int64_t first,
                     std::int64_t count, const float* bias, Activation activation, float* y) {
  const Vector floor = broadcast(activation == Activation::relu ? 0.0F : -__builtin_inff());
  if (tiles.results == 2) {
    output<2>(tiles, m, point_stride, first, count, bias, floor, y);
  } else {
    output<4>(tiles, m, point_stride, first, count, bias, floor, y);
  }
}

void winograd_result_gradient(const WinogradTiles& tiles, const float* dy, std::int64_t first, std::int64_t count,
                              float* z, std::int64_t point_stride) {
  if (tiles.results == 2) {
    transform_tiles<2, 4>(tiles, Winograd<2>::result_gradient, dy, first, count, z, point_stride);
  } else {
    transform_tiles<4, 6>(tiles, Winograd<4>::result_gradient, dy, first, count, z, point_stride);
  }
}

void winograd_weight_gradient(const WinogradWeights& shape, const float* du, std::int64_t point_stride, bool accumulate,
                              float* dw) {
  if (shape.results == 2) {
    weight_gradient<2>(shape, du, point_stride, accumulate, dw);
  } else {
    weight_gradient<4>(shape, du, point_stride, accumulate, dw);
  }
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
