// Whether no element is infinite or NaN; a quick pass over the bits, cheaper than reading the memory costs.
#pragma once

#include "core/tensor.h"

namespace lockring::ops {

// Any shape, float32; true for no elements.
bool all_finite(const Tensor& x);

}  // namespace lockring::ops
