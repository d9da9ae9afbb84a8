// x [images][pixels][channels], y [images][channels].
#pragma once

#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

struct GlobalPoolShape {
  std::int64_t images, pixels, channels;
};

// source: the pixel that each value came from.
using GlobalMaxPoolFn = void(const GlobalPoolShape& shape, ConstReals x, Reals y, std::int32_t* source);
using GlobalMaxPoolGradientFn = void(const GlobalPoolShape& shape, ConstReals dy, const std::int32_t* source, Reals dx);
using GlobalAvgPoolFn = void(const GlobalPoolShape& shape, ConstReals x, Reals y);
using GlobalAvgPoolGradientFn = void(const GlobalPoolShape& shape, ConstReals dy, Reals dx);

LOCKRING_DECLARE_SIMD_KERNEL(GlobalMaxPoolFn, global_max_pool)
LOCKRING_DECLARE_SIMD_KERNEL(GlobalMaxPoolGradientFn, global_max_pool_gradient)
LOCKRING_DECLARE_SIMD_KERNEL(GlobalAvgPoolFn, global_avg_pool)
LOCKRING_DECLARE_SIMD_KERNEL(GlobalAvgPoolGradientFn, global_avg_pool_gradient)

}  // namespace lockring
