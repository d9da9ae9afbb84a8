// Convolutions and products of our own, for what cuDNN or cuBLASLt turn out not to do: any shape, any alignment, and
// many times slower. Sums are made in double precision.
#pragma once

#include "ops/conv2d_kernel.h"
#include "ops/cuda/product.h"

#include <string>

namespace lockring::kernels::cuda {

void direct_convolution(const ConvShape& shape, const float* x, const float* w, float* y);
void direct_input_gradient(const ConvShape& shape, const float* dy, const float* w, float* dx);
void direct_weight_gradient(const ConvShape& shape, const float* x, const float* dy, bool accumulate, float* dw);
void direct_product(const ProductShape& shape, const float* a, const float* b, const float* bias, float* d);

// Tells people that these are used, and why.
void say_direct(const ConvShape& shape, const std::string& why);
void say_direct(const ProductShape& shape, const std::string& why);

}  // namespace lockring::kernels::cuda
