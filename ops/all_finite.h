// Whether every element is a number: neither infinite nor NaN. One vectorised pass over the bits.
#pragma once

#include "core/tensor.h"

namespace lockring::ops {

// Any shape, float32; true for no elements. Waits for a GPU's answer.
bool all_finite(const Tensor& x);

}  // namespace lockring::ops
