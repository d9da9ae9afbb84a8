// y = activation(x w^T + b): x [n][in], w [out][in], b [out] or undefined, y [n][out].
#pragma once

#include "core/tensor.h"
#include "ops/activation.h"

namespace lockring::ops {

// `packed` is w in the form of pack_weights, or undefined; it changes the speed, not the bits.
// Differentiable in x, w and b. Throws Error{usage} on shapes that do not fit.
Tensor linear(const Tensor& x, const Tensor& w, const Tensor& b = {}, Activation activation = Activation::none,
              const Tensor& packed = {});

}  // namespace lockring::ops
