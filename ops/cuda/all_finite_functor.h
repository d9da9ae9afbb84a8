#pragma once

#include "core/cuda/host_device.h"

#include <cstdint>

namespace lockring::kernels::cuda {

struct IsNotFinite {
  const float* values;
  LOCKRING_HOST_DEVICE double operator()(std::int64_t i) const { return values[i] - values[i] == 0 ? 0 : 1; }
};

struct StoreFinite {
  std::uint8_t* finite;
  LOCKRING_HOST_DEVICE void operator()(double bad) const { *finite = bad == 0 ? 1 : 0; }
};

}  // namespace lockring::kernels::cuda
