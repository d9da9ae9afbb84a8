// A plain product out[rows][cols] (+)= left[rows][inner] * right[inner][cols], cut into blocks for the caches.
#pragma once

#include "ops/cpu/brgemm.h"

namespace lockring::kernels::cpu {

// The order of each element's sum does not depend on rows or cols. Single-threaded.
void gemm(const BrgemmShape& shape, const float* left, const float* right, float* out);

}  // namespace lockring::kernels::cpu
