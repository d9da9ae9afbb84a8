#include "ops/conv2d_kernel.h"

#include "ops/cuda/convolution.h"
#include "ops/rows_kernel.h"

namespace lockring::kernels::cuda {

void conv2d_forward(const ConvShape& s, const float* x, const float* w, const float* /*packed*/, const float* bias,
                    Activation activation, float* y) {
  convolve(s, x, w, y);
  bias_activation(y, s.n * s.oh * s.ow, s.out, bias, activation);
}

void conv2d_input_gradient(const ConvShape& shape, const float* dy, const float* w, float* dx) {
  convolve_input_gradient(shape, dy, w, dx);
}

void conv2d_weight_gradient(const ConvShape& shape, const float* x, const float* dy, bool accumulate, float* dw) {
  convolve_weight_gradient(shape, x, dy, accumulate, dw);
}

}  // namespace lockring::kernels::cuda
