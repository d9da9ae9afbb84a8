#pragma once

#include "ops/activation.h"
#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

struct LinearShape {
  std::int64_t n, in, out;
};

// `packed` ([in][out]) and `bias` may be null.
using LinearForwardFn = void(const LinearShape& shape, ConstReals x, const float* w, const float* packed,
                             const float* bias, Activation activation, Reals y);
using LinearInputGradientFn = void(const LinearShape& shape, ConstReals dy, const float* w, Reals dx);
using LinearWeightGradientFn = void(const LinearShape& shape, ConstReals x, ConstReals dy, bool accumulate, float* dw);

LOCKRING_DECLARE_KERNEL(LinearForwardFn, linear_forward)
LOCKRING_DECLARE_KERNEL(LinearInputGradientFn, linear_input_gradient)
LOCKRING_DECLARE_KERNEL(LinearWeightGradientFn, linear_weight_gradient)

}  // namespace lockring
