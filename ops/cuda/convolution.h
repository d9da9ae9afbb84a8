// Convolutions by cuDNN on NHWC images with OHWI weights: of float32 with TF32 products, of bfloat16 with sums in
// float32.
//
// The algorithm for a shape is measured the first time it is met, on each GPU, and kept for all threads; those that use
// other shapes meanwhile do not wait. Shapes here are whole: oh and ow are all that padding and stride give. An empty
// batch is allowed.
#pragma once

#include "ops/conv2d_kernel.h"

namespace lockring::kernels::cuda {

void convolve(const ConvShape& shape, ConstReals x, const float* w, Reals y);
void convolve_input_gradient(const ConvShape& shape, ConstReals dy, const float* w, Reals dx);
void convolve_weight_gradient(const ConvShape& shape, ConstReals x, ConstReals dy, bool accumulate, float* dw);

}  // namespace lockring::kernels::cuda
