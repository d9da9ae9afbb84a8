// What convolution and linear do to rows of channels around their products.
#pragma once

#include "core/cuda/map.h"

#include <cstdint>

namespace lockring::kernels::cuda {

using lockring::cuda::RowColumn;
using lockring::cuda::to_float;

struct BiasActivation {
  const float* bias;  // or null
  bool relu;
  LOCKRING_HOST_DEVICE float operator()(RowColumn at, float y) const {
    const float value = bias == nullptr ? y : y + bias[at.column];
    return relu && value < 0 ? 0.0F : value;  // NaN passes
  }
};

struct ReluGradient {
  LOCKRING_HOST_DEVICE float operator()(RowColumn, float y, float dy) const { return y > 0 ? dy : 0.0F; }
};

template <class T>
struct RowValue {
  const T* rows;
  std::int64_t channels;
  LOCKRING_HOST_DEVICE double operator()(std::int64_t row, std::int64_t channel) const {
    return to_float(rows[row * channels + channel]);
  }
};

}  // namespace lockring::kernels::cuda
