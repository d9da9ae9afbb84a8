#pragma once

#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

using UnaryFn = void(const float* x, std::int64_t count, float* y);
using UnaryGradientFn = void(const float* x, const float* dy, std::int64_t count, float* dx);
using BinaryFn = void(const float* a, const float* b, std::int64_t count, float* y);

LOCKRING_DECLARE_SIMD_KERNEL(UnaryFn, relu)
LOCKRING_DECLARE_SIMD_KERNEL(UnaryFn, gelu)
LOCKRING_DECLARE_SIMD_KERNEL(UnaryGradientFn, gelu_gradient)
LOCKRING_DECLARE_SIMD_KERNEL(UnaryFn, silu)
LOCKRING_DECLARE_SIMD_KERNEL(UnaryGradientFn, silu_gradient)
LOCKRING_DECLARE_SIMD_KERNEL(BinaryFn, add)

}  // namespace lockring
