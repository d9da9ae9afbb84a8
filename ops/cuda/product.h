// Matrix products by cuBLASLt, of float32 with TF32 or of bfloat16 with sums in float32, with a bias and ReLU fused
// where they are wanted.
#pragma once

#include "core/reals.h"
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

// No size may be 0. A and B have the same type; D may be of float32 if they are of bfloat16. `bias` has the type of D
// and may be null. The algorithm for a shape is looked up once a thread and kept.
void product(const ProductShape& shape, ConstReals a, ConstReals b, const void* bias, Reals d);

}  // namespace lockring::kernels::cuda
