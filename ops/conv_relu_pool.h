// max_pool2d(conv2d(x, w, b) with ReLU, 2 x 2) in one pass: the block that small image models begin with.
//
// Equal to the two ops, bit for bit in its result, and cheaper: the convolution's own result, four times the size of
// this one's, never reaches memory; rows and columns that pooling drops are not computed; and backward knows from one
// byte a value where its gradient goes.
#pragma once

#include "core/tensor.h"

#include <cstdint>

namespace lockring::ops {

// x [n][h][w][in], w [out][kh][kw][in], b [out]; stride 1, zero padding on each side; `packed` as for conv2d with
// stride 1. Differentiable in x, w and b. Where several of the four convolution results are the largest, the gradient
// goes to the first; where any is NaN so is y, and the gradient goes to one of them. Throws Error{usage} on shapes that
// do not fit, or if nothing is left after pooling.
Tensor conv_relu_pool(const Tensor& x, const Tensor& w, const Tensor& b, std::int64_t padding = 0,
                      const Tensor& packed = {});

}  // namespace lockring::ops
