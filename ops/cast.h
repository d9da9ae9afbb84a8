// Between float32 and bfloat16, which GPUs compute with.
#pragma once

#include "core/tensor.h"

namespace lockring::ops {

// The values of x as `dtype`, rounded to the nearest; x itself if it is of that type. Differentiable; the gradient has
// x's type. Throws Error{device} on a CPU.
Tensor cast(const Tensor& x, DType dtype);

}  // namespace lockring::ops
