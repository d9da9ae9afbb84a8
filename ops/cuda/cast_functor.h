#pragma once

#include "core/cuda/bf16.h"

#include <cstdint>

namespace lockring::kernels::cuda {

// One index an element.
template <class From, class To>
struct Cast {
  const From* x;
  To* y;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    lockring::cuda::store(y + i, lockring::cuda::to_float(x[i]));
  }
};

// y (+)= x.
template <class From>
struct AddCast {
  const From* x;
  bool accumulate;
  float* y;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    y[i] = (accumulate ? y[i] : 0.0F) + lockring::cuda::to_float(x[i]);
  }
};

}  // namespace lockring::kernels::cuda
