// One product of a batch-reduce GEMM as compiled loops.
#pragma once

#include "ops/cpu/brgemm.h"
#include "ops/kernel.h"

namespace lockring {

// out += left * right, each element summed in the order that brgemm.h promises, with one rounding a step.
using AddProductFn = void(const kernels::cpu::BrgemmShape& shape, const float* left, const float* right, float* out);

LOCKRING_DECLARE_SIMD_KERNEL(AddProductFn, add_product)

}  // namespace lockring
