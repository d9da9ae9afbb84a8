// The gradient of a function against central finite differences: the whole gradient test of an op.
//
//   check_gradients([](auto x) { return ops::linear(x[0], x[1], x[2]); },
//                   {random_tensor({5, 3}), random_tensor({4, 3}, 2), random_tensor({4}, 3)});
#pragma once

#include "core/tensor.h"

#include <functional>
#include <span>
#include <vector>

namespace lockring {

struct GradientCheckOptions {
  double step = 1e-2;       // inputs move by this much to either side
  double tolerance = 2e-3;  // of the larger of 1 and the derivative
};

using TensorFunction = std::function<Tensor(std::span<const Tensor>)>;

// Fails the running test unless the recorded gradient of `f` agrees with the numeric one for every element of every
// input. The output, of any shape, is reduced against fixed random weights, in double precision.
// Also checks what a numeric comparison of one pass does not see: that a gradient is the same when only that input
// wants one, that a second pass adds to the first, and that the incoming gradient is not written to.
// `f` must be a pure function of its float inputs, smooth within a step of them; other arguments it captures.
void check_gradients(const TensorFunction& f, std::vector<Tensor> inputs, GradientCheckOptions options = {},
                     const char* file = __builtin_FILE(), int line = __builtin_LINE());

}  // namespace lockring
