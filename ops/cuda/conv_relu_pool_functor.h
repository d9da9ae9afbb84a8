// Bias, ReLU and 2 x 2 pooling of a whole convolution's result z [images][height][width][channels], of which an odd
// last row or column is dropped.
#pragma once

#include "ops/conv_relu_pool_kernel.h"
#include "ops/cuda/pool_functor.h"

#include <cstdint>

namespace lockring::kernels::cuda {

// Sizes of z; the pooled ones are half of them, rounded down.
struct PooledShape {
  std::int64_t height, width, channels;
  // Where the first of the four places of pooled element i lies in z.
  LOCKRING_HOST_DEVICE std::int64_t first_place(std::int64_t i) const {
    const Place p = place_of(i, height / 2, width / 2, channels);
    return ((p.image * height + 2 * p.row) * width + 2 * p.column) * channels + p.channel;
  }
};

// One index kSize pooled elements of neighbouring channels.
template <class T, int kSize>
struct BiasReluPool {
  PooledShape s;
  const T* z;
  const float* bias;
  T* y;
  std::uint8_t* source;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t pack) const {
    const std::int64_t i = pack * kSize;
    const T* first = z + s.first_place(i);
    Best<T, kSize> best;
    best.begin(pack_at<kSize>(first));
    for (std::uint8_t place = 1; place < 4; ++place)
      best.see(pack_at<kSize>(first + (place / 2 * s.width + place % 2) * s.channels), place);
    const std::int64_t channel = i % s.channels;
    for (int j = 0; j < kSize; ++j) {
      best.value[j] += bias[channel + j];
      if (!(best.value[j] <= 0)) continue;  // NaN passes
      best.value[j] = 0;
      best.from.values[j] = kNoSource;
    }
    put_pack(y + i, pack_of<T>(best.value));
    if (source != nullptr) put_pack(source + i, best.from);
  }
};

// One index kSize elements of dz: the pooled element's gradient where it came from, else 0.
template <class T, int kSize>
struct Unpool {
  PooledShape s;
  const T* dy;
  const std::uint8_t* source;
  T* dz;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t pack) const {
    const std::int64_t i = pack * kSize;
    const Place p = place_of(i, s.height, s.width, s.channels);
    const std::int64_t rows = s.height / 2;
    const std::int64_t columns = s.width / 2;
    Pack<T, kSize> result{};
    if (p.row / 2 < rows && p.column / 2 < columns) {
      const std::int64_t at = ((p.image * rows + p.row / 2) * columns + p.column / 2) * s.channels + p.channel;
      const auto from = pack_at<kSize>(source + at);
      const auto values = pack_at<kSize>(dy + at);
      for (int j = 0; j < kSize; ++j)
        if (from.values[j] == p.row % 2 * 2 + p.column % 2) result.values[j] = values.values[j];
    }
    put_pack(dz + i, result);
  }
};

// dy where it has a source.
template <class T>
struct SourcedValue {
  const T* dy;
  const std::uint8_t* source;
  std::int64_t channels;
  LOCKRING_HOST_DEVICE double operator()(std::int64_t row, std::int64_t channel) const {
    const std::int64_t i = row * channels + channel;
    return source[i] == kNoSource ? 0 : to_float(dy[i]);
  }
};

}  // namespace lockring::kernels::cuda
