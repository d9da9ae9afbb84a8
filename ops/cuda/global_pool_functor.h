// Pooling over whole images: one index an image's channel forward, a pixel's channel backward.
#pragma once

#include "core/cuda/host_device.h"
#include "ops/global_pool_kernel.h"

#include <cstdint>

namespace lockring::kernels::cuda {

struct GlobalMaxPool {
  GlobalPoolShape s;
  const float* x;
  float* y;
  std::int32_t* source;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const float* values = x + i / s.channels * s.pixels * s.channels + i % s.channels;
    float best = values[0];
    std::int64_t from = 0;
    for (std::int64_t pixel = 1; pixel < s.pixels; ++pixel) {
      const float value = values[pixel * s.channels];
      if (value > best || value != value) {
        best = value;
        from = pixel;
      }
    }
    y[i] = best;
    source[i] = static_cast<std::int32_t>(from);
  }
};

struct GlobalMaxPoolGradient {
  GlobalPoolShape s;
  const float* dy;
  const std::int32_t* source;
  float* dx;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t result = i / (s.pixels * s.channels) * s.channels + i % s.channels;
    dx[i] = source[result] == i / s.channels % s.pixels ? dy[result] : 0.0F;
  }
};

struct GlobalAvgPool {
  GlobalPoolShape s;
  const float* x;
  float* y;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const float* values = x + i / s.channels * s.pixels * s.channels + i % s.channels;
    float sum = 0;
    for (std::int64_t pixel = 0; pixel < s.pixels; ++pixel) sum += values[pixel * s.channels];
    y[i] = sum / static_cast<float>(s.pixels);
  }
};

struct GlobalAvgPoolGradient {
  GlobalPoolShape s;
  const float* dy;
  float* dx;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    dx[i] = dy[i / (s.pixels * s.channels) * s.channels + i % s.channels] / static_cast<float>(s.pixels);
  }
};

}  // namespace lockring::kernels::cuda
