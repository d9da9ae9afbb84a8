// What convolution and linear do to rows of channels around their products, one index an element.
#pragma once

#include "core/cuda/host_device.h"

#include <cstdint>

namespace lockring::kernels::cuda {

struct BiasActivation {
  float* y;
  std::int64_t channels;
  const float* bias;  // or null
  bool relu;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const float value = bias == nullptr ? y[i] : y[i] + bias[i % channels];
    y[i] = relu && value < 0 ? 0.0F : value;  // NaN passes
  }
};

struct ReluGradient {
  const float *y, *dy;
  float* dz;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const { dz[i] = y[i] > 0 ? dy[i] : 0.0F; }
};

struct RowValue {
  const float* rows;
  std::int64_t channels;
  LOCKRING_HOST_DEVICE double operator()(std::int64_t row, std::int64_t channel) const {
    return rows[row * channels + channel];
  }
};

}  // namespace lockring::kernels::cuda
