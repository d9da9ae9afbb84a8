// Convolutions by cuDNN on NHWC images with OHWI weights, in float32 with TF32 products.
//
// The algorithm for a shape is measured the first time it is met, on each GPU, and kept for all threads. Shapes here
// are whole: oh and ow are all that padding and stride give. An empty batch is allowed.
#pragma once

#include "ops/conv2d_kernel.h"

namespace lockring::kernels::cuda {

void convolve(const ConvShape& shape, const float* x, const float* w, float* y);
void convolve_input_gradient(const ConvShape& shape, const float* dy, const float* w, float* dx);
void convolve_weight_gradient(const ConvShape& shape, const float* x, const float* dy, bool accumulate, float* dw);

}  // namespace lockring::kernels::cuda
