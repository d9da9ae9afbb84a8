// y = exp(x) / sum(exp(x)) over the channels of each row: x and y [n][c].
#pragma once

#include "core/tensor.h"

namespace lockring::ops {

// Values of any size are safe; a row with a NaN or +infinity becomes NaN. Differentiable in x.
// Throws Error{usage} unless x is [n][c] with c > 0.
Tensor softmax(const Tensor& x);

}  // namespace lockring::ops
