#pragma once

#include "core/cuda/bf16.h"

#include <cstdint>

namespace lockring::kernels::cuda {

template <class T>
struct IsNotFinite {
  const T* values;
  LOCKRING_HOST_DEVICE double operator()(std::int64_t i) const {
    const float value = lockring::cuda::to_float(values[i]);
    return value - value == 0 ? 0 : 1;
  }
};

struct StoreFinite {
  std::uint8_t* finite;
  LOCKRING_HOST_DEVICE void operator()(double bad) const { *finite = bad == 0 ? 1 : 0; }
};

}  // namespace lockring::kernels::cuda
