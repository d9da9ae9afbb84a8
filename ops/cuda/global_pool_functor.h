// Pooling over whole images: one index an image's channel forward, a pixel's channel backward.
#pragma once

#include "core/cuda/bf16.h"
#include "ops/global_pool_kernel.h"

#include <cstdint>

namespace lockring::kernels::cuda {

using lockring::cuda::store;
using lockring::cuda::to_float;

template <class T>
struct GlobalMaxPool {
  GlobalPoolShape s;
  const T* x;
  T* y;
  std::int32_t* source;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const T* values = x + i / s.channels * s.pixels * s.channels + i % s.channels;
    float best = to_float(values[0]);
    std::int64_t from = 0;
    for (std::int64_t pixel = 1; pixel < s.pixels; ++pixel) {
      const float value = to_float(values[pixel * s.channels]);
      if (value > best || value != value) {
        best = value;
        from = pixel;
      }
    }
    store(y + i, best);
    source[i] = static_cast<std::int32_t>(from);
  }
};

template <class T>
struct GlobalMaxPoolGradient {
  GlobalPoolShape s;
  const T* dy;
  const std::int32_t* source;
  T* dx;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t result = i / (s.pixels * s.channels) * s.channels + i % s.channels;
    store(dx + i, source[result] == i / s.channels % s.pixels ? to_float(dy[result]) : 0.0F);
  }
};

template <class T>
struct GlobalAvgPool {
  GlobalPoolShape s;
  const T* x;
  T* y;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const T* values = x + i / s.channels * s.pixels * s.channels + i % s.channels;
    float sum = 0;
    for (std::int64_t pixel = 0; pixel < s.pixels; ++pixel) sum += to_float(values[pixel * s.channels]);
    store(y + i, sum / static_cast<float>(s.pixels));
  }
};

template <class T>
struct GlobalAvgPoolGradient {
  GlobalPoolShape s;
  const T* dy;
  T* dx;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    store(dx + i,
          to_float(dy[i / (s.pixels * s.channels) * s.channels + i % s.channels]) / static_cast<float>(s.pixels));
  }
};

}  // namespace lockring::kernels::cuda
