#include "core/tensor.h"
#include "ops/cpu/gemm.h"
#include "ops/linear_kernel.h"
#include "ops/rows_kernel.h"
#include "ops/transpose_kernel.h"

namespace lockring::kernels::cpu {
namespace {

// Without packed weights the activations are transposed instead, which moves less: y^T = w x^T.
void transposed_forward(const LinearShape& s, const float* x, const float* w, float* y) {
  Tensor scratch = Tensor::empty({s.in + s.out, s.n});
  float* x_transposed = scratch.data();
  float* y_transposed = x_transposed + s.in * s.n;
  kTranspose.on()(x, s.n, s.in, x_transposed);
  gemm({.rows = s.out, .cols = s.n, .inner = s.in, .left_stride = s.in, .right_stride = s.n, .out_stride = s.n}, w,
       x_transposed, y_transposed);
  kTranspose.on()(y_transposed, s.out, s.n, y);
}

}  // namespace

void linear_forward(const LinearShape& s, const float* x, const float* w, const float* packed, const float* bias,
                    Activation activation, float* y) {
  if (packed == nullptr) {
    transposed_forward(s, x, w, y);
  } else {
    gemm({.rows = s.n, .cols = s.out, .inner = s.in, .left_stride = s.in, .right_stride = s.out, .out_stride = s.out},
         x, packed, y);
  }
  kBiasActivation.on()(y, s.n, s.out, bias, activation);
}

void linear_input_gradient(const LinearShape& s, const float* dy, const float* w, float* dx) {
  gemm({.rows = s.n, .cols = s.in, .inner = s.out, .left_stride = s.out, .right_stride = s.in, .out_stride = s.in}, dy,
       w, dx);
}

void linear_weight_gradient(const LinearShape& s, const float* x, const float* dy, bool accumulate, float* dw) {
  gemm({.rows = s.out,
        .cols = s.in,
        .inner = s.n,
        .left_stride = s.out,
        .right_stride = s.in,
        .out_stride = s.in,
        .left_transposed = true,
        .accumulate = accumulate},
       dy, x, dw);
}

}  // namespace lockring::kernels::cpu
