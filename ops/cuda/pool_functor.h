// Pooling over windows, one index a result. Gradients are gathered: each pixel asks the windows that hold it, so
// nothing is added to twice at once and the order of sums is fixed.
#pragma once

#include "core/cuda/map.h"
#include "ops/pool_shape.h"

#include <cstdint>

namespace lockring::kernels::cuda {

using lockring::cuda::Pack;
using lockring::cuda::pack_at;
using lockring::cuda::put_pack;
using lockring::cuda::store;
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
template <class T, int kSize>
struct Best {
  float value[kSize];
  Pack<std::uint8_t, kSize> from;
  LOCKRING_HOST_DEVICE void begin(const Pack<T, kSize>& first) {
    from = {};
    for (int j = 0; j < kSize; ++j) value[j] = to_float(first.values[j]);
  }
  LOCKRING_HOST_DEVICE void see(const Pack<T, kSize>& values, std::uint8_t place) {
    for (int j = 0; j < kSize; ++j) {
      const float seen = to_float(values.values[j]);
      if (!(seen > value[j] || seen != seen)) continue;
      value[j] = seen;
      from.values[j] = place;
    }
  }
};

// One index kSize results of neighbouring channels.
template <class T, int kSize>
struct MaxPool {
  PoolShape s;
  const T* x;
  T* y;
  std::uint8_t* source;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t pack) const {
    const std::int64_t i = pack * kSize;
    const Place p = place_of(i, s.out_height, s.out_width, s.channels);
    const T* window =
        x + ((p.image * s.height + p.row * s.stride) * s.width + p.column * s.stride) * s.channels + p.channel;
    Best<T, kSize> best;
    best.begin(pack_at<kSize>(window));
    for (std::int64_t place = 1; place < s.kernel * s.kernel; ++place)
      best.see(pack_at<kSize>(window + (place / s.kernel * s.width + place % s.kernel) * s.channels),
               static_cast<std::uint8_t>(place));
    Pack<T, kSize> result;
    for (int j = 0; j < kSize; ++j) store(result.values + j, best.value[j]);
    put_pack(y + i, result);
    put_pack(source + i, best.from);
  }
};

template <class T>
struct AvgPool {
  PoolShape s;
  const T* x;
  T* y;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const Place p = place_of(i, s.out_height, s.out_width, s.channels);
    const T* window =
        x + ((p.image * s.height + p.row * s.stride) * s.width + p.column * s.stride) * s.channels + p.channel;
    float sum = 0;
    for (std::int64_t place = 0; place < s.kernel * s.kernel; ++place)
      sum += to_float(window[(place / s.kernel * s.width + place % s.kernel) * s.channels]);
    store(y + i, sum / static_cast<float>(s.kernel * s.kernel));
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
    Pack<T, kSize> result;
    for (int j = 0; j < kSize; ++j) store(result.values + j, sums[j]);
    put_pack(dx + pack * kSize, result);
  }
};

template <class T>
struct SumOfWindows {
  const T* dy;
  float* sum;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t window, std::int64_t) const { *sum += to_float(dy[window]); }
};

template <class T>
struct AvgPoolGradient {
  PoolShape s;
  const T* dy;
  T* dx;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    float sum = 0;
    for_each_window(s, i, SumOfWindows<T>{dy, &sum});
    store(dx + i, sum / static_cast<float>(s.kernel * s.kernel));
  }
};

}  // namespace lockring::kernels::cuda
