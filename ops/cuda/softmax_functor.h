// Softmax and what is made of it, one index a row: rows of classes are short and there are many of them.
#pragma once

#include "core/cuda/host_device.h"

#include <cmath>
#include <cstdint>

namespace lockring::kernels::cuda {

LOCKRING_HOST_DEVICE inline float largest_of(const float* x, std::int64_t channels) {
  float largest = x[0];
  for (std::int64_t c = 1; c < channels; ++c) largest = x[c] > largest ? x[c] : largest;
  return largest;
}

// y = the softmax of a row; returns the sum of the exponentials of x less the largest.
LOCKRING_HOST_DEVICE inline double softmax_row(const float* x, std::int64_t channels, float largest, float* y) {
  double sum = 0;
  for (std::int64_t c = 0; c < channels; ++c) {
    y[c] = expf(x[c] - largest);
    sum += y[c];
  }
  const auto factor = static_cast<float>(1 / sum);
  for (std::int64_t c = 0; c < channels; ++c) y[c] *= factor;
  return sum;
}

struct Softmax {
  const float* x;
  std::int64_t channels;
  float* y;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t row) const {
    const float* from = x + row * channels;
    softmax_row(from, channels, largest_of(from, channels), y + row * channels);
  }
};

struct SoftmaxGradient {
  const float *y, *dy;
  std::int64_t channels;
  float* dx;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t row) const {
    const std::int64_t first = row * channels;
    double dot = 0;
    for (std::int64_t c = first; c < first + channels; ++c) dot += double{y[c]} * dy[c];
    const auto mean = static_cast<float>(dot);
    for (std::int64_t c = first; c < first + channels; ++c) dx[c] = y[c] * (dy[c] - mean);
  }
};

}  // namespace lockring::kernels::cuda
