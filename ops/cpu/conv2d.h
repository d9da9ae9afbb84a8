// Convolution on the CPU, mostly as batch-reduce products, in ways chosen by the shape alone:
//
// - by rows: one product for each row of an image's result, its pairs the taps of the kernel;
// - by images: one product for each place of the result, its rows the images of the batch. Better where rows are short;
// - by patches: where the input has too few channels to be an inner dimension, the taps are gathered next to each
//   other first (im2col);
// - directly: 3x3 of one channel, without products.
//
// In the forward pass all of these sum each element in the same order, tap by tap and channel by channel. Most 3 x 3
// convolutions go by Winograd's tiles instead (winograd.h).
#pragma once

#include "core/tensor.h"
#include "ops/conv2d_kernel.h"

namespace lockring::kernels::cpu {

// x with its border of zeros, in `scratch` or, if there is no border, x itself. Sizes as padded().
const float* with_border(const ConvShape& shape, const float* x, Tensor& scratch);
// The inside of bordered images; `shape` is that of the convolution before padded().
void without_border(const ConvShape& shape, const float* bordered, float* dx);
// The shape of the same convolution on the bordered input.
ConvShape padded(const ConvShape& shape);

// Below this many input channels patches are gathered.
constexpr std::int64_t kFewChannels = 8;

// y without bias and activation; no padding.
void conv2d_products(const ConvShape& shape, const float* x, const float* packed, float* y);

// conv2d_patches.cpp; no padding.
void conv2d_patches_products(const ConvShape& shape, const float* x, const float* packed, float* y);
void conv2d_patches_input_gradient(const ConvShape& shape, const float* dy, const float* w, float* dx);
void conv2d_patches_weight_gradient(const ConvShape& shape, const float* x, const float* dy, bool accumulate,
                                    float* dw);

// conv2d_direct.cpp; no padding.
bool is_direct(const ConvShape& shape);
void conv2d_direct_products(const ConvShape& shape, const float* x, const float* packed, float* y);
void conv2d_direct_weight_gradient(const ConvShape& shape, const float* x, const float* dy, bool accumulate, float* dw);
// [9][out] to [out][9], which it is added to or written to.
void unpack_weight_gradient(const float* packed, std::int64_t out, bool accumulate, float* dw);

}  // namespace lockring::kernels::cpu
