// y = activation(x w^T + b): x [n][in], w [out][in], b [out] or undefined, y [n][out].
#pragma once

#include "core/tensor.h"
#include "ops/activation.h"

namespace lockring::ops {

// `packed` is w in the form of pack_linear_weights, or undefined; it changes the speed, not the bits.
// Differentiable in x, w and b. Throws Error{usage} on shapes that do not fit.
Tensor linear(const Tensor& x, const Tensor& w, const Tensor& b = {}, Activation activation = Activation::none,
              const Tensor& packed = {});

// Writes the form of w that forward products read on CPUs, [in][out], into `packed`, allocating it if it is undefined.
// Leaves `packed` undefined on a device that reads weights as they are. Throws Error{usage} unless w is [out][in] and
// `packed` has room for just that.
void pack_linear_weights(const Tensor& w, Tensor& packed);

}  // namespace lockring::ops
