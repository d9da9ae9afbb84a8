// Pooling over windows, one index a result. Gradients are gathered: each pixel asks the windows that hold it, so
// nothing is added to twice at once and the order of sums is fixed.
#pragma once

#include "core/cuda/host_device.h"
#include "ops/pool_shape.h"

#include <cstdint>

namespace lockring::kernels::cuda {

struct Place {
  std::int64_t image, row, column, channel;
};

// Where element i of [images][height][width][channels] lies.
LOCKRING_HOST_DEVICE inline Place place_of(std::int64_t i, std::int64_t height, std::int64_t width,
                                           std::int64_t channels) {
  return {i / channels / width / height, i / channels / width % height, i / channels % width, i % channels};
}

struct MaxPool {
  PoolShape s;
  const float* x;
  float* y;
  std::uint8_t* source;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const Place p = place_of(i, s.out_height, s.out_width, s.channels);
    const float* window =
        x + ((p.image * s.height + p.row * s.stride) * s.width + p.column * s.stride) * s.channels + p.channel;
    float best = *window;
    std::uint8_t from = 0;
    for (std::int64_t place = 1; place < s.kernel * s.kernel; ++place) {
      const float value = window[(place / s.kernel * s.width + place % s.kernel) * s.channels];
      if (value > best || value != value) {
        best = value;
        from = static_cast<std::uint8_t>(place);
      }
    }
    y[i] = best;
    source[i] = from;
  }
};

struct AvgPool {
  PoolShape s;
  const float* x;
  float* y;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const Place p = place_of(i, s.out_height, s.out_width, s.channels);
    const float* window =
        x + ((p.image * s.height + p.row * s.stride) * s.width + p.column * s.stride) * s.channels + p.channel;
    float sum = 0;
    for (std::int64_t place = 0; place < s.kernel * s.kernel; ++place)
      sum += window[(place / s.kernel * s.width + place % s.kernel) * s.channels];
    y[i] = sum / static_cast<float>(s.kernel * s.kernel);
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

struct SumOfSources {
  const float* dy;
  const std::uint8_t* source;
  float* sum;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t window, std::int64_t place) const {
    if (source[window] == place) *sum += dy[window];
  }
};

struct MaxPoolGradient {
  PoolShape s;
  const float* dy;
  const std::uint8_t* source;
  float* dx;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    float sum = 0;
    for_each_window(s, i, SumOfSources{dy, source, &sum});
    dx[i] = sum;
  }
};

struct SumOfWindows {
  const float* dy;
  float* sum;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t window, std::int64_t) const { *sum += dy[window]; }
};

struct AvgPoolGradient {
  PoolShape s;
  const float* dy;
  float* dx;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    float sum = 0;
    for_each_window(s, i, SumOfWindows{dy, &sum});
    dx[i] = sum / static_cast<float>(s.kernel * s.kernel);
  }
};

}  // namespace lockring::kernels::cuda
