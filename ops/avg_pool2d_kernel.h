#pragma once

#include "ops/kernel.h"
#include "ops/pool_shape.h"

namespace lockring {

using AvgPoolFn = void(const PoolShape& shape, ConstReals x, Reals y);
using AvgPoolGradientFn = void(const PoolShape& shape, ConstReals dy, Reals dx);

LOCKRING_DECLARE_SIMD_KERNEL(AvgPoolFn, avg_pool)
LOCKRING_DECLARE_SIMD_KERNEL(AvgPoolGradientFn, avg_pool_gradient)

}  // namespace lockring
