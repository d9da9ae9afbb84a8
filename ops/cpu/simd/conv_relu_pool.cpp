#include "ops/conv_relu_pool_kernel.h"

#include "ops/cpu/simd/winograd_lines.h"
#include "ops/cpu/winograd_kernel.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {
namespace {

// Where pooled values go, and where they came from, which may be null.
struct Pooled {
  float* y;
  std::uint8_t* source;

  Pooled at(std::int64_t i) const { return {y + i, source == nullptr ? nullptr : source + i}; }
};

LOCKRING_INLINE Vector larger(Vector a, Vector b) { return a > b ? a : b; }

// The largest of four, and then bias and ReLU. NaN is the largest of all.
template <bool kSource>
LOCKRING_INLINE void pool(const Vector* places, Vector bias, Pooled to) {
  Vector best = places[0];
  Integers from = {};
  if constexpr (kSource) {
    for (int i = 1; i < 4; ++i) {
      const Integers better = places[i] > best;
      best = better ? places[i] : best;
      from = better ? Integers{} + i : from;
    }
  } else {
    best = larger(larger(places[0], places[1]), larger(places[2], places[3]));
  }
  best = nan_with(places[0], places[1], places[2], places[3], best) + bias;
  const Integers cut = best <= Vector{};
  store(to.y, cut ? Vector{} : best);
  if constexpr (kSource) store_bytes(to.source, cut ? Integers{} + kNoSource : from);
}

LOCKRING_INLINE void pool_one(const float* const* places, float bias, Pooled to) {
  float best = *places[0];
  std::uint8_t from = 0;
  for (std::uint8_t i = 1; i < 4; ++i) {
    if (*places[i] > best || *places[i] != *places[i]) {
      best = *places[i];
      from = i;
    }
  }
  best += bias;
  *to.y = best <= 0 ? 0 : best;
  if (to.source != nullptr) *to.source = best <= 0 ? kNoSource : from;
}

template <bool kSource>
LOCKRING_INLINE void pool_rows(const float* z, std::int64_t rows, std::int64_t columns, std::int64_t channels,
                               const float* bias, Pooled to) {
  const std::int64_t stride = 2 * columns * channels;
  const std::int64_t whole = channels / kLanes * kLanes;
  for (std::int64_t place = 0; place < rows * columns; ++place) {
    const float* first = z + place / columns * 2 * stride + place % columns * 2 * channels;
    const float* corners[4] = {first, first + channels, first + stride, first + stride + channels};
    for (std::int64_t c = 0; c < whole; c += kLanes) {
      const Vector places[4] = {load(corners[0] + c), load(corners[1] + c), load(corners[2] + c), load(corners[3] + c)};
      pool<kSource>(places, load(bias + c), to.at(place * channels + c));
    }
    for (std::int64_t c = whole; c < channels; ++c) {
      const float* places[4] = {corners[0] + c, corners[1] + c, corners[2] + c, corners[3] + c};
      pool_one(places, bias[c], to.at(place * channels + c));
    }
  }
}

// Where one tile's windows go: the first, and how many rows and columns of them are inside.
struct PoolTarget {
  Pooled corner;
  std::int64_t row_stride, column_stride;
  std::int64_t rows, columns;
};

// One register of channels of one tile. A function of its own, since in the loops around it the addresses would crowd
// the registers.
template <bool kSource>
__attribute__((noinline)) void pool_tile(const float* m, std::int64_t point_stride, const PoolTarget& to,
                                         std::int64_t c, Vector bias) {
  const PoolTarget target = to;
  Vector windows[4][4];
  transform_square<6, 4>(
      Winograd::output,
      [&](int j, Vector* column) {
#pragma GCC unroll 6
        for (int i = 0; i < 6; ++i) column[i] = load(m + (6 * i + j) * point_stride);
      },
      [&](int i, int j, Vector value) { windows[i / 2 * 2 + j / 2][i % 2 * 2 + j % 2] = value; });
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const std::int64_t at = i / 2 * target.row_stride + i % 2 * target.column_stride + c;
    if (i / 2 < target.rows && i % 2 < target.columns) pool<kSource>(windows[i], bias, target.corner.at(at));
  }
}

template <bool kSource>
LOCKRING_INLINE void pool_tiles(const WinogradTiles& t, const float* m, std::int64_t point_stride, std::int64_t first,
                                std::int64_t count, const float* bias, Pooled result) {
  const std::int64_t rows = t.h / 2;
  const std::int64_t columns = t.w / 2;
  for (std::int64_t tile = first; tile < first + count; ++tile) {
    const std::int64_t row = (t.first_row + tile % t.image() / t.columns) * 2;
    const std::int64_t column = (t.first_column + tile % t.columns) * 2;
    const std::int64_t corner = ((tile / t.image() * rows + row) * columns + column) * t.channels;
    const PoolTarget target = {result.at(corner), columns * t.channels, t.channels, rows - row, columns - column};
    for (std::int64_t c = 0; c < t.channels; c += kLanes, m += kLanes)
      pool_tile<kSource>(m, point_stride, target, c, load(bias + c));
  }
}

}  // namespace

void bias_relu_pool(const float* z, std::int64_t rows, std::int64_t columns, std::int64_t channels, const float* bias,
                    float* y, std::uint8_t* source) {
  if (source == nullptr) return pool_rows<false>(z, rows, columns, channels, bias, {y, nullptr});
  pool_rows<true>(z, rows, columns, channels, bias, {y, source});
}

void winograd_pool(const WinogradTiles& tiles, const float* m, std::int64_t point_stride, std::int64_t first,
                   std::int64_t count, const float* bias, float* y, std::uint8_t* source) {
  if (source == nullptr) return pool_tiles<false>(tiles, m, point_stride, first, count, bias, {y, nullptr});
  pool_tiles<true>(tiles, m, point_stride, first, count, bias, {y, source});
}

void unpool(const float* dy, const std::uint8_t* source, std::int64_t rows, std::int64_t columns, std::int64_t channels,
            float* dz) {
  const std::int64_t stride = 2 * columns * channels;
  const std::int64_t whole = channels / kLanes * kLanes;
  for (std::int64_t place = 0; place < rows * columns; ++place) {
    float* first = dz + place / columns * 2 * stride + place % columns * 2 * channels;
    float* corners[4] = {first, first + channels, first + stride, first + stride + channels};
    const float* gradient = dy + place * channels;
    const std::uint8_t* from = source + place * channels;
    for (std::int64_t c = 0; c < whole; c += kLanes) {
      const Vector value = load(gradient + c);
      const Integers index = load_bytes(from + c);
      for (int i = 0; i < 4; ++i) store(corners[i] + c, index == i ? value : Vector{});
    }
    for (std::int64_t c = whole; c < channels; ++c)
      for (int i = 0; i < 4; ++i) corners[i][c] = from[c] == i ? gradient[c] : 0.0F;
  }
}

void sum_sources(const float* dy, const std::uint8_t* source, std::int64_t rows, std::int64_t channels, bool accumulate,
                 float* sums) {
  const std::int64_t whole = channels / kLanes * kLanes;
  for (std::int64_t c = 0; c < whole; c += kLanes) {
    Vector sum = {};
    for (std::int64_t row = 0; row < rows; ++row)
      sum += load_bytes(source + row * channels + c) < kNoSource ? load(dy + row * channels + c) : Vector{};
    store(sums + c, accumulate ? load(sums + c) + sum : sum);
  }
  for (std::int64_t c = whole; c < channels; ++c) {
    float sum = 0;
    for (std::int64_t row = 0; row < rows; ++row)
      sum += source[row * channels + c] < kNoSource ? dy[row * channels + c] : 0.0F;
    sums[c] = accumulate ? sums[c] + sum : sum;
  }
}

namespace {

// The four results of one pooled place, for one register of channels: `input` is its corner of the image.
LOCKRING_INLINE void direct_place(const float* input, std::int64_t width, const Vector* weights, Vector* places) {
  for (int i = 0; i < 4; ++i) places[i] = Vector{};
#pragma GCC unroll 9
  for (int tap = 0; tap < 9; ++tap)
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      places[i] = fma(broadcast(input[(tap / 3 + i / 2) * width + tap % 3 + i % 2]), weights[tap], places[i]);
}

template <bool kSource>
LOCKRING_INLINE void direct_pooled(const ConvShape& s, const float* x, const float* packed, const float* bias,
                                   Pooled result) {
  const std::int64_t rows = s.oh / 2;
  const std::int64_t columns = s.ow / 2;
  for (std::int64_t n = 0; n < s.n; ++n)
    for (std::int64_t c = 0; c < s.out; c += kLanes) {
      Vector weights[9];
      for (int tap = 0; tap < 9; ++tap) weights[tap] = load(packed + tap * s.out + c);
      const Vector shift = load(bias + c);
      std::int64_t to = n * rows * columns * s.out + c;
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t column = 0; column < columns; ++column, to += s.out) {
          Vector places[4];
          direct_place(x + (n * s.h + 2 * row) * s.w + 2 * column, s.w, weights, places);
          pool<kSource>(places, shift, result.at(to));
        }
    }
}

}  // namespace

void direct_conv_relu_pool(const ConvShape& s, const float* x, const float* packed, const float* bias, float* y,
                           std::uint8_t* source) {
  if (source == nullptr) return direct_pooled<false>(s, x, packed, bias, {y, nullptr});
  direct_pooled<true>(s, x, packed, bias, {y, source});
}

void direct_conv_relu_pool_gradient(const ConvShape& s, const float* x, const float* dy, const std::uint8_t* source,
                                    float* packed_dw) {
  const std::int64_t rows = s.oh / 2;
  const std::int64_t columns = s.ow / 2;
  for (std::int64_t c = 0; c < s.out; c += kLanes) {
    Vector sums[9] = {};
    for (std::int64_t place = 0; place < s.n * rows * columns; ++place) {
      const std::int64_t row = place / columns;
      const float* input = x + (row / rows * s.h + row % rows * 2) * s.w + place % columns * 2;
      const Vector value = load(dy + place * s.out + c);
      const Integers index = load_bytes(source + place * s.out + c);
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const Vector here = index == i ? value : Vector{};
#pragma GCC unroll 9
        for (int tap = 0; tap < 9; ++tap)
          sums[tap] = fma(broadcast(input[(tap / 3 + i / 2) * s.w + tap % 3 + i % 2]), here, sums[tap]);
      }
    }
    for (int tap = 0; tap < 9; ++tap) store(packed_dw + tap * s.out + c, sums[tap]);
  }
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
