#include "core/cuda/check.h"
#include "core/cuda/stream.h"
#include "ops/cuda/operand.h"
#include "ops/cuda/product.h"
#include "ops/linear_kernel.h"

// Matrices lie by rows here and by columns in cuBLAS, so each is seen transposed: y' = w x'.
namespace lockring::kernels::cuda {

// The bias has the type of y, as cuBLASLt wants it.
void linear_forward(const LinearShape& s, ConstReals x, const float* w, const float* /*packed*/, const float* bias,
                    Activation activation, Reals y) {
  if (s.n == 0 || s.out == 0) return;
  const Operand weights(w, s.in * s.out, x.dtype);
  const Operand shift(bias, bias == nullptr ? 0 : s.out, bias == nullptr ? DType::f32 : y.dtype);
  product({.m = s.out, .n = s.n, .k = s.in, .transpose_a = true, .activation = activation}, {weights.data(), x.dtype},
          x, shift.data(), y);
}

void linear_input_gradient(const LinearShape& s, ConstReals dy, const float* w, Reals dx) {
  if (s.n == 0 || s.in == 0) return;
  const Operand weights(w, s.in * s.out, dy.dtype);
  product({.m = s.in, .n = s.n, .k = s.out}, {weights.data(), dy.dtype}, dy, nullptr, dx);
}

void linear_weight_gradient(const LinearShape& s, ConstReals x, ConstReals dy, bool accumulate, float* dw) {
  if (s.n == 0) {
    const auto bytes = static_cast<std::size_t>(s.in * s.out) * sizeof(float);
    if (!accumulate) LOCKRING_CHECK_CUDA(cudaMemsetAsync(dw, 0, bytes, lockring::cuda::current_stream()));
    return;
  }
  product({.m = s.in, .n = s.out, .k = s.n, .transpose_b = true, .accumulate = accumulate}, x, dy, nullptr, dw);
}

}  // namespace lockring::kernels::cuda
