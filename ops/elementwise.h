// Functions of one element at a time: y[i] = f(x[i]), any shape. All differentiable; NaN passes.
#pragma once

#include "core/tensor.h"

namespace lockring::ops {

// max(x, 0).
Tensor relu(const Tensor& x);
// x * Phi(x), with the normal distribution function Phi in its exact form (erf), not the tanh approximation
// (Hendrycks and Gimpel, arXiv:1606.08415).
Tensor gelu(const Tensor& x);
// x / (1 + exp(-x)) (Ramachandran et al., arXiv:1710.05941, "swish").
Tensor silu(const Tensor& x);
// a + b. Throws Error{usage} unless the shapes are the same.
Tensor add(const Tensor& a, const Tensor& b);

}  // namespace lockring::ops
