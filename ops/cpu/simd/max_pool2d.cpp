#include "ops/cpu/simd/vector.h"
#include "ops/pool_shape.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {
namespace {

// One window, for the first `lanes` channels. x is its first pixel, `row` the distance between rows of pixels.
LOCKRING_INLINE void pool_lanes(const float* x, std::int64_t row, std::int64_t channels, std::int64_t kernel,
                                std::int64_t lanes, float* y, std::uint8_t* source) {
  Vector best = load(x, lanes);
  Integers from = {};
  for (std::int64_t place = 1; place < kernel * kernel; ++place) {
    const Vector value = load(x + place / kernel * row + place % kernel * channels, lanes);
    const Integers better = (value > best) | (value != value);
    best = better ? value : best;
    from = better ? Integers{} + static_cast<std::int32_t>(place) : from;
  }
  store(y, best, lanes);
  store_bytes(source, from, lanes);
}

// Its gradient: writes the window's pixels where windows do not overlap, adds to them where they do.
LOCKRING_INLINE void spread_lanes(const float* dy, const std::uint8_t* source, std::int64_t row, std::int64_t channels,
                                  std::int64_t kernel, bool overlapping, std::int64_t lanes, float* dx) {
  const Vector gradient = load(dy, lanes);
  const Integers from = load_bytes(source, lanes);
  for (std::int64_t place = 0; place < kernel * kernel; ++place) {
    float* pixel = dx + place / kernel * row + place % kernel * channels;
    const Vector value = from == static_cast<std::int32_t>(place) ? gradient : Vector{};
    store(pixel, overlapping ? load(pixel, lanes) + value : value, lanes);
  }
}

LOCKRING_INLINE void pool_window(const float* x, std::int64_t row, std::int64_t channels, std::int64_t kernel, float* y,
                                 std::uint8_t* source) {
  std::int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) pool_lanes(x + c, row, channels, kernel, kLanes, y + c, source + c);
  if (c < channels) pool_lanes(x + c, row, channels, kernel, channels - c, y + c, source + c);
}

LOCKRING_INLINE void spread_window(const float* dy, const std::uint8_t* source, std::int64_t row, std::int64_t channels,
                                   std::int64_t kernel, bool overlapping, float* dx) {
  std::int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes)
    spread_lanes(dy + c, source + c, row, channels, kernel, overlapping, kLanes, dx + c);
  if (c < channels) spread_lanes(dy + c, source + c, row, channels, kernel, overlapping, channels - c, dx + c);
}

// Zeroes what spread_window will not write.
LOCKRING_INLINE void clear(const PoolShape& s, bool overlapping, float* dx) {
  const std::int64_t row = s.width * s.channels;
  const std::int64_t covered_rows = overlapping ? 0 : s.out_height * s.stride;
  const std::int64_t covered = overlapping ? 0 : s.out_width * s.stride * s.channels;
  for (std::int64_t y = 0; y < s.height; ++y)
    for (std::int64_t i = y < covered_rows ? covered : 0; i < row; ++i) dx[y * row + i] = 0;
}

// Inlined with a constant kernel and stride for the usual case.
LOCKRING_INLINE void pool_images(const PoolShape& s, std::int64_t kernel, std::int64_t stride, const float* x, float* y,
                                 std::uint8_t* source) {
  const std::int64_t row = s.width * s.channels;
  for (std::int64_t image = 0; image < s.n; ++image, x += s.height * row)
    for (std::int64_t i = 0; i < s.out_height * s.out_width; ++i, y += s.channels, source += s.channels)
      pool_window(x + i / s.out_width * stride * row + i % s.out_width * stride * s.channels, row, s.channels, kernel,
                  y, source);
}

LOCKRING_INLINE void spread_images(const PoolShape& s, std::int64_t kernel, std::int64_t stride, const float* dy,
                                   const std::uint8_t* source, float* dx) {
  const std::int64_t row = s.width * s.channels;
  const bool overlapping = kernel != stride;
  for (std::int64_t image = 0; image < s.n; ++image, dx += s.height * row) {
    clear(s, overlapping, dx);
    for (std::int64_t i = 0; i < s.out_height * s.out_width; ++i, dy += s.channels, source += s.channels)
      spread_window(dy, source, row, s.channels, kernel, overlapping,
                    dx + i / s.out_width * stride * row + i % s.out_width * stride * s.channels);
  }
}

}  // namespace

void max_pool(const PoolShape& shape, const float* x, float* y, std::uint8_t* source) {
  if (shape.kernel == 2 && shape.stride == 2) {
    pool_images(shape, 2, 2, x, y, source);
  } else {
    pool_images(shape, shape.kernel, shape.stride, x, y, source);
  }
}

void max_pool_gradient(const PoolShape& shape, const float* dy, const std::uint8_t* source, float* dx) {
  if (shape.kernel == 2 && shape.stride == 2) {
    spread_images(shape, 2, 2, dy, source, dx);
  } else {
    spread_images(shape, shape.kernel, shape.stride, dy, source, dx);
  }
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
