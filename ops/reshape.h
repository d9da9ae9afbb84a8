// The same elements under another shape, sharing memory; the differentiable form of Tensor::view.
#pragma once

#include "core/tensor.h"

namespace lockring::ops {

// Throws Error{usage} unless the number of elements is the same.
Tensor reshape(const Tensor& x, const Shape& shape);
// [n][...] to [n][rest]. Throws Error{usage} on rank 0.
Tensor flatten(const Tensor& x);

}  // namespace lockring::ops
