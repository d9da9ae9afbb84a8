#pragma once

#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

using UnaryFn = void(ConstReals x, std::int64_t count, Reals y);
using UnaryGradientFn = void(ConstReals x, ConstReals dy, std::int64_t count, Reals dx);
using BinaryFn = void(ConstReals a, ConstReals b, std::int64_t count, Reals y);

LOCKRING_DECLARE_SIMD_KERNEL(UnaryFn, relu)
LOCKRING_DECLARE_SIMD_KERNEL(UnaryFn, gelu)
LOCKRING_DECLARE_SIMD_KERNEL(UnaryGradientFn, gelu_gradient)
LOCKRING_DECLARE_SIMD_KERNEL(UnaryFn, silu)
LOCKRING_DECLARE_SIMD_KERNEL(UnaryGradientFn, silu_gradient)
LOCKRING_DECLARE_SIMD_KERNEL(BinaryFn, add)

}  // namespace lockring
