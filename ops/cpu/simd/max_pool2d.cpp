#include "ops/cpu/simd/vector.h"
#include "ops/pool_shape.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {
namespace {

// One window, over all channels. x is its first pixel, `row` the distance between rows of pixels.
LOCKRING_INLINE void pool_window(const float* x, std::int64_t row, std::int64_t channels, std::int64_t kernel, float* y,
                                 std::uint8_t* source) {
  const std::int64_t whole = channels / kLanes * kLanes;
  for (std::int64_t c = 0; c < whole; c += kLanes) {
    Vector best = load(x + c);
    Integers from = {};
    for (std::int64_t place = 1; place < kernel * kernel; ++place) {
      const Vector value = load(x + place / kernel * row + place % kernel * channels + c);
      const Integers better = (value > best) | (value != value);
      best = better ? value : best;
      from = better ? Integers{} + static_cast<std::int32_t>(place) : from;
    }
    store(y + c, best);
    store_bytes(source + c, from);
  }
  for (std::int64_t c = whole; c < channels; ++c) {
    float best = x[c];
    std::int64_t from = 0;
    for (std::int64_t place = 1; place < kernel * kernel; ++place) {
      const float value = x[place / kernel * row + place % kernel * channels + c];
      const bool better = value > best || value != value;
      best = better ? value : best;
      from = better ? place : from;
    }
    y[c] = best;
    source[c] = static_cast<std::uint8_t>(from);
  }
}

// Its gradient: writes the window's pixels where windows do not overlap, adds to them where they do.
LOCKRING_INLINE void spread_window(const float* dy, const std::uint8_t* source, std::int64_t row, std::int64_t channels,
                                   std::int64_t kernel, bool overlapping, float* dx) {
  const std::int64_t whole = channels / kLanes * kLanes;
  for (std::int64_t c = 0; c < whole; c += kLanes) {
    const Vector gradient = load(dy + c);
    const Integers from = load_bytes(source + c);
    for (std::int64_t place = 0; place < kernel * kernel; ++place) {
      float* pixel = dx + place / kernel * row + place % kernel * channels + c;
      const Vector value = from == static_cast<std::int32_t>(place) ? gradient : Vector{};
      store(pixel, overlapping ? load(pixel) + value : value);
    }
  }
  for (std::int64_t c = whole; c < channels; ++c) {
    for (std::int64_t place = 0; place < kernel * kernel; ++place) {
      float& pixel = dx[place / kernel * row + place % kernel * channels + c];
      const float value = source[c] == place ? dy[c] : 0.0F;
      pixel = overlapping ? pixel + value : value;
    }
  }
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
