// The largest value of each window of kernel x kernel pixels: x [n][h][w][c], y [n][(h - kernel) / stride + 1][...][c].
#pragma once

#include "core/tensor.h"

#include <cstdint>

namespace lockring::ops {

// No padding. A NaN is larger than all else, as in PyTorch. Differentiable in x: the gradient goes to the first of
// equal maxima. Throws Error{usage} on an x that is not [n][h][w][c], a window larger than the image, a kernel
// above 16.
Tensor max_pool2d(const Tensor& x, std::int64_t kernel, std::int64_t stride);

}  // namespace lockring::ops
