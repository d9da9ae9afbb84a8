// The mean of each window of kernel x kernel pixels: x [n][h][w][c], y [n][(h - kernel) / stride + 1][...][c].
#pragma once

#include "core/tensor.h"

#include <cstdint>

namespace lockring::ops {

// No padding. Differentiable in x. Throws Error{usage} on an x that is not [n][h][w][c] or a window larger than the
// image.
Tensor avg_pool2d(const Tensor& x, std::int64_t kernel, std::int64_t stride);

}  // namespace lockring::ops
