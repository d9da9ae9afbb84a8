// Pooling over windows, one index kSize results of neighbouring channels. Gradients are gathered: each pixel asks the
// windows that hold it, so nothing is added to twice at once and the order of sums is fixed.
#pragma once

#include "core/cuda/map.h"
#include "ops/pool_shape.h"

#include <cstdint>

namespace lockring::kernels::cuda {

using lockring::cuda::Pack;
using lockring::cuda::pack_at;
using lockring::cuda::pack_of;
using lockring::cuda::put_pack;
using lockring::cuda::to_float;

struct Place {
  std::int64_t image, row, column, channel;
};

// Where element i of [images][height][width][channels] lies.
LOCKRING_HOST_DEVICE inline Place place_of(std::int64_t i, std::int64_t height, std::int64_t width,
                                           std::int64_t channels) {
  return {i / channels / width / height, i / channels / width % height, i / channels % width, i % channels};
}

// The largest values so far, and where they came from.
template <class T, int kSize, class Where = std::uint8_t>
struct Best {
  float value[kSize];
  Pack<Where, kSize> from;
  LOCKRING_HOST_DEVICE void begin(const Pack<T, kSize>& first) {
    from = {};
    for (int j = 0; j < kSize; ++j) value[j] = to_float(first.values[j]);
  }
  LOCKRING_HOST_DEVICE void see(const Pack<T, kSize>& values, Where place) {
    for (int j = 0; j < kSize; ++j) {
      const float seen = to_float(values.values[j]);
      if (!(seen > value[j] || seen != seen)) continue;
      value[j] = seen;
      from.values[j] = place;
    }
  }
};

template <class T, int kSize>
LOCKRING_HOST_DEVICE void add_pack(const Pack<T, kSize>& values, float (&sums)[kSize]) {
  for (int j = 0; j < kSize; ++j) sums[j] += to_float(values.values[j]);
}

template <class T, int kSize>
LOCKRING_HOST_DEVICE Pack<T, kSize> mean_of(float (&sums)[kSize], std::int64_t count) {
  for (float& sum : sums) sum /= static_cast<float>(count);
  return pack_of<T>(sums);
}

// Where the window of element i of the result begins, in x.
LOCKRING_HOST_DEVICE inline std::int64_t window_of(const PoolShape& s, std::int64_t i) {
  const Place p = place_of(i, s.out_height, s.out_width, s.channels);
  return ((p.image * s.height + p.row * s.stride) * s.width + p.column * s.stride) * s.channels + p.channel;
}
// From there to another of its places.
LOCKRING_HOST_DEVICE inline std::int64_t within_window(const PoolShape& s, std::int64_t place) {
  return (place / s.kernel * s.width + place % s.kernel) * s.channels;
}

template <class T, int kSize>
struct MaxPool {
  PoolShape s;
  const T* x;
  T* y;
  std::uint8_t* source;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t pack) const {
    const std::int64_t i = pack * kSize;
    const T* window = x + window_of(s, i);
    Best<T, kSize> best;
    best.begin(pack_at<kSize>(window));
    for (std::int64_t place = 1; place < s.kernel * s.kernel; ++place)
      best.see(pack_at<kSize>(window + within_window(s, place)), static_cast<std::uint8_t>(place));
    put_pack(y + i, pack_of<T>(best.value));
    put_pack(source + i, best.from);
  }
};

template <class T, int kSize>
struct AvgPool {
  PoolShape s;
  const T* x;
  T* y;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t pack) const {
    const T* window = x + window_of(s, pack * kSize);
    float sums[kSize] = {};
    for (std::int64_t place = 0; place < s.kernel * s.kernel; ++place)
      add_pack(pack_at<kSize>(window + within_window(s, place)), sums);
    put_pack(y + pack * kSize, mean_of<T>(sums, s.kernel * s.kernel));
  }
};

// Calls f(element of the result, place of the pixel in its window) for each window that holds pixel i of the input.
template <class F>
LOCKRING_HOST_DEVICE void for_each_window(const PoolShape& s, std::int64_t i, const F& f) {
  const Place p = place_of(i, s.height, s.width, s.channels);
  const std::int64_t first_row = p.row < s.kernel ? 0 : (p.row - s.kernel) / s.stride + 1;
  const std::int64_t first_column = p.column < s.kernel ? 0 : (p.column - s.kernel) / s.stride + 1;
  for (std::int64_t r = first_row; r < s.out_height && r * s.stride <= p.row; ++r)
    for (std::int64_t c = first_column; c < s.out_width && c * s.stride <= p.column; ++c)
      f(((p.image * s.out_height + r) * s.out_width + c) * s.channels + p.channel,
        (p.row - r * s.stride) * s.kernel + p.column - c * s.stride);
}

template <class T, int kSize>
struct SumOfSources {
  const T* dy;
  const std::uint8_t* source;
  float* sums;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t window, std::int64_t place) const {
    const auto from = pack_at<kSize>(source + window);
    const auto values = pack_at<kSize>(dy + window);
    for (int j = 0; j < kSize; ++j)
      if (from.values[j] == place) sums[j] += to_float(values.values[j]);
  }
};

template <class T, int kSize>
struct MaxPoolGradient {
  PoolShape s;
  const T* dy;
  const std::uint8_t* source;
  T* dx;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t pack) const {
    float sums[kSize] = {};
    for_each_window(s, pack * kSize, SumOfSources<T, kSize>{dy, source, sums});
    put_pack(dx + pack * kSize, pack_of<T>(sums));
  }
};

template <class T, int kSize>
struct SumOfWindows {
  const T* dy;
  float (&sums)[kSize];
  LOCKRING_HOST_DEVICE void operator()(std::int64_t window, std::int64_t) const {
    add_pack(pack_at<kSize>(dy + window), sums);
  }
};

template <class T, int kSize>
struct AvgPoolGradient {
  PoolShape s;
  const T* dy;
  T* dx;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t pack) const {
    float sums[kSize] = {};
    for_each_window(s, pack * kSize, SumOfWindows<T, kSize>{dy, sums});
    put_pack(dx + pack * kSize, mean_of<T>(sums, s.kernel * s.kernel));
  }
};

}  // namespace lockring::kernels::cuda
