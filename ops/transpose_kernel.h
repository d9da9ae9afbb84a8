// to[columns][rows] = from[rows][columns] transposed.
#pragma once

#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

using TransposeFn = void(const float* from, std::int64_t rows, std::int64_t columns, float* to);
LOCKRING_DECLARE_SIMD_KERNEL(TransposeFn, transpose)

constexpr Kernel<TransposeFn> kTranspose{"transpose", LOCKRING_SIMD_KERNELS(transpose), nullptr};

}  // namespace lockring
