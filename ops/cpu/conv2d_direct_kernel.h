// 3x3 convolution of one channel, stride 1: its nine weights stay in registers. No padding; `out` is a multiple of
// kDirectChannels.
#pragma once

#include "ops/conv2d_kernel.h"

namespace lockring {

constexpr std::int64_t kDirectChannels = 16;  // fill whole registers of every instruction set

// y without bias and activation, from packed weights [9][out].
using Conv2dDirectFn = void(const ConvShape& shape, const float* x, const float* packed, float* y);
// Overwrites packed_dw [9][out].
using Conv2dDirectWeightGradientFn = void(const ConvShape& shape, const float* x, const float* dy, float* packed_dw);

LOCKRING_DECLARE_SIMD_KERNEL(Conv2dDirectFn, conv2d_direct)
LOCKRING_DECLARE_SIMD_KERNEL(Conv2dDirectWeightGradientFn, conv2d_direct_weight_gradient)

}  // namespace lockring
