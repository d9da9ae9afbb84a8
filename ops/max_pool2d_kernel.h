#pragma once

#include "ops/kernel.h"
#include "ops/pool_shape.h"

#include <cstdint>

namespace lockring {

// source: for each output, the place within its window of the value, row by row.
using MaxPoolFn = void(const PoolShape& shape, ConstReals x, Reals y, std::uint8_t* source);
using MaxPoolGradientFn = void(const PoolShape& shape, ConstReals dy, const std::uint8_t* source, Reals dx);

LOCKRING_DECLARE_SIMD_KERNEL(MaxPoolFn, max_pool)
LOCKRING_DECLARE_SIMD_KERNEL(MaxPoolGradientFn, max_pool_gradient)

}  // namespace lockring
