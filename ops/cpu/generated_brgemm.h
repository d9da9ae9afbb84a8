// Products that LIBXSMM generates at run time, or none where it is not in the build (no_libxsmm.cpp).
#pragma once

#include "ops/cpu/brgemm.h"

#include <string>

namespace lockring::kernels::cpu {

// LIBXSMM is column-major: our right is its first operand.
using GeneratedBrgemm = void (*)(const float* const* right, const float* const* left, float* out,
                                 const unsigned long long* count);

// Null where there is no code for the shape that sums in the order that brgemm.h promises. Any thread.
GeneratedBrgemm generate_brgemm(const BrgemmShape& shape);

// "1.17", or "not in this build".
std::string libxsmm_version();

}  // namespace lockring::kernels::cpu
