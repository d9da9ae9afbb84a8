#pragma once

#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

using SoftmaxFn = void(const float* x, std::int64_t rows, std::int64_t channels, float* y);
// dx = y (dy - sum over channels of y dy).
using SoftmaxGradientFn = void(const float* y, const float* dy, std::int64_t rows, std::int64_t channels, float* dx);

LOCKRING_DECLARE_SIMD_KERNEL(SoftmaxFn, softmax)
LOCKRING_DECLARE_SIMD_KERNEL(SoftmaxGradientFn, softmax_gradient)

}  // namespace lockring
