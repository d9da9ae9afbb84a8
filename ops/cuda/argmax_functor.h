#pragma once

#include "core/cuda/host_device.h"

#include <cstdint>

namespace lockring::kernels::cuda {

// The first of the largest, or -1 if one of them is NaN.
LOCKRING_HOST_DEVICE inline std::int32_t row_argmax(const float* row, std::int64_t channels) {
  std::int64_t best = 0;
  bool any_nan = false;
  for (std::int64_t c = 0; c < channels; ++c) {
    any_nan |= row[c] != row[c];
    if (row[c] > row[best]) best = c;
  }
  return any_nan ? -1 : static_cast<std::int32_t>(best);
}

struct Argmax {
  const float* scores;
  std::int64_t channels;
  std::int32_t* index;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t row) const {
    index[row] = row_argmax(scores + row * channels, channels);
  }
};

struct IsCorrect {
  const float* scores;
  const std::int32_t* labels;
  std::int64_t channels;
  LOCKRING_HOST_DEVICE double operator()(std::int64_t row) const {
    return row_argmax(scores + row * channels, channels) == labels[row] ? 1 : 0;
  }
};

struct StoreCount {
  std::int64_t* count;
  LOCKRING_HOST_DEVICE void operator()(double sum) const { *count = static_cast<std::int64_t>(sum); }
};

}  // namespace lockring::kernels::cuda
