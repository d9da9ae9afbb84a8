// The largest value, or the mean, of all pixels of an image: [n][h][w][c] to [n][c].
#pragma once

#include "core/tensor.h"

namespace lockring::ops {

// Differentiable in x. Both throw Error{usage} on an x that is not [n][h][w][c] with at least one pixel.
// A NaN is larger than all else; the gradient goes to the first of equal maxima.
Tensor global_max_pool(const Tensor& x);
Tensor global_avg_pool(const Tensor& x);

}  // namespace lockring::ops
