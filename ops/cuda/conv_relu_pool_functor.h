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

// One index a pooled element.
struct BiasReluPool {
  PooledShape s;
  const float *z, *bias;
  float* y;
  std::uint8_t* source;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const float* first = z + s.first_place(i);
    float best = *first;
    std::uint8_t from = 0;
    for (std::uint8_t place = 1; place < 4; ++place) {
      const float value = first[(place / 2 * s.width + place % 2) * s.channels];
      if (value > best || value != value) {
        best = value;
        from = place;
      }
    }
    best += bias[i % s.channels];
    y[i] = best <= 0 ? 0.0F : best;
    if (source != nullptr) source[i] = best <= 0 ? kNoSource : from;
  }
};

// One index an element of dz: the pooled element's gradient where it came from, else 0.
struct Unpool {
  PooledShape s;
  const float* dy;
  const std::uint8_t* source;
  float* dz;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const Place p = place_of(i, s.height, s.width, s.channels);
    const std::int64_t rows = s.height / 2;
    const std::int64_t columns = s.width / 2;
    dz[i] = 0;
    if (p.row / 2 >= rows || p.column / 2 >= columns) return;
    const std::int64_t at = ((p.image * rows + p.row / 2) * columns + p.column / 2) * s.channels + p.channel;
    if (source[at] == p.row % 2 * 2 + p.column % 2) dz[i] = dy[at];
  }
};

// dy where it has a source.
struct SourcedValue {
  const float* dy;
  const std::uint8_t* source;
  std::int64_t channels;
  LOCKRING_HOST_DEVICE double operator()(std::int64_t row, std::int64_t channel) const {
    const std::int64_t i = row * channels + channel;
    return source[i] == kNoSource ? 0 : dy[i];
  }
};

}  // namespace lockring::kernels::cuda
