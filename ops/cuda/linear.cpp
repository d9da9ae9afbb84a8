#include "core/cuda/check.h"
#include "core/cuda/stream.h"
#include "ops/cuda/product.h"
#include "ops/linear_kernel.h"

// Matrices lie by rows here and by columns in cuBLAS, so each is seen transposed: y' = w x'.
namespace lockring::kernels::cuda {

void linear_forward(const LinearShape& s, const float* x, const float* w, const float* /*packed*/, const float* bias,
                    Activation activation, float* y) {
  if (s.n == 0 || s.out == 0) return;
  product({.m = s.out, .n = s.n, .k = s.in, .transpose_a = true, .activation = activation}, w, x, bias, y);
}

void linear_input_gradient(const LinearShape& s, const float* dy, const float* w, float* dx) {
  if (s.n == 0 || s.in == 0) return;
  product({.m = s.in, .n = s.n, .k = s.out}, w, dy, nullptr, dx);
}

void linear_weight_gradient(const LinearShape& s, const float* x, const float* dy, bool accumulate, float* dw) {
  if (s.n == 0) {
    const auto bytes = static_cast<std::size_t>(s.in * s.out) * sizeof(float);
    if (!accumulate) LOCKRING_CHECK_CUDA(cudaMemsetAsync(dw, 0, bytes, lockring::cuda::current_stream()));
    return;
  }
  product({.m = s.in, .n = s.out, .k = s.n, .transpose_b = true, .accumulate = accumulate}, x, dy, nullptr, dw);
}

}  // namespace lockring::kernels::cuda
