// Convolution on the CPU by Winograd's minimal filtering (winograd_kernel.h), a further form beside those of conv2d.h,
// with a quarter of their multiplications (docs/convolution.md).
//
// Tiles of 4 x 4 results are transformed a block at a time, so that the block stays in cache; then each of the 36
// points is one product over the channels.
#pragma once

#include "ops/conv2d_kernel.h"

namespace lockring::kernels::cpu {

// Whether weights can be used so: 3 x 3 with stride 1, and channels that fill registers.
bool has_winograd(const ConvShape& shape);
// ... and the result is large enough for it.
bool is_winograd(const ConvShape& shape);

// The transformed weights that winograd_forward reads, [36][in][out] with gaps, from [3][3][in][out]; in packed weights
// (conv2d_kernel.h) they lie behind these.
inline std::int64_t winograd_offset(const ConvShape& shape) { return shape.out * shape.patch(); }
std::int64_t winograd_floats(const ConvShape& shape);
void winograd_transform(const ConvShape& shape, const float* taps, float* transformed);

// As the kernels of conv2d_kernel.h.
void winograd_forward(const ConvShape& shape, const float* x, const float* transformed, const float* bias,
                      Activation activation, float* y);
// As the kernel of conv_relu_pool_kernel.h; the shape's oh and ow are even.
void winograd_pooled_forward(const ConvShape& shape, const float* x, const float* transformed, const float* bias,
                             float* y, std::uint8_t* source);
void winograd_input_gradient(const ConvShape& shape, const float* dy, const float* w, float* dx);
void winograd_weight_gradient(const ConvShape& shape, const float* x, const float* dy, bool accumulate, float* dw);

}  // namespace lockring::kernels::cpu
