// Matrix products by cuBLASLt, in float32 with TF32, with a bias and ReLU fused where they are wanted.
#pragma once

#include "ops/activation.h"

#include <cstdint>

namespace lockring::kernels::cuda {

// D = activation(op(A) op(B) + bias), or D += op(A) op(B): matrices by columns, as cuBLAS has them, and dense. D is
// [m] x n, op(A) m x k, op(B) k x n; the bias has m values.
struct ProductShape {
  std::int64_t m, n, k;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
  Activation activation = Activation::none;
};

// No size may be 0. `bias` may be null. The algorithm for a shape is looked up once a thread and kept.
void product(const ProductShape& shape, const float* a, const float* b, const float* bias, float* d);

}  // namespace lockring::kernels::cuda
