#include "ops/conv2d_kernel.h"

#include "ops/cuda/convolution.h"
#include "ops/rows_kernel.h"

namespace lockring::kernels::cuda {

void conv2d_forward(const ConvShape& s, ConstReals x, const float* w, const float* /*packed*/, const float* bias,
                    Activation activation, Reals y) {
  convolve(s, x, w, y);
  bias_activation(y, s.n * s.oh * s.ow, s.out, bias, activation);
}

void conv2d_input_gradient(const ConvShape& shape, ConstReals dy, const float* w, Reals dx) {
  convolve_input_gradient(shape, dy, w, dx);
}

void conv2d_weight_gradient(const ConvShape& shape, ConstReals x, ConstReals dy, bool accumulate, float* dw) {
  convolve_weight_gradient(shape, x, dy, accumulate, dw);
}

}  // namespace lockring::kernels::cuda
