// Batch normalisation: y = activation((x - mean) / sqrt(variance + epsilon) * gamma + beta), each channel with a mean
// and variance of its own (Ioffe and Szegedy, arXiv:1502.03167). x [n][...][c]; gamma, beta, mean, variance [c].
#pragma once

#include "core/autograd.h"
#include "core/group_sum.h"
#include "core/tensor.h"
#include "ops/activation.h"

#include <cstdint>

namespace lockring::ops {

struct BatchNormOptions {
  float epsilon = 1e-5F;
  // Training: so many consecutive images are normalised together ("ghost batch norm", Hoffer et al., NIPS 2017). A
  // remainder joins the last group; fewer images than one group are a group.
  std::int64_t group = 32;
  Activation activation = Activation::none;
};

// Where training gathers what the running statistics will follow, [c] each: the sum over groups of images * mean, and
// of images * unbiased variance (biased where a group holds a single value). Like gradients they add up over
// micro-batches and replicas and are divided by the number of images in the end. Undefined tensors: not wanted.
struct MomentSums {
  GradSlot mean{};
  GradSlot variance{};
};

// Normalises by the moments of each group. An empty batch gives an empty result, a single value per channel gives beta.
// Results of a group do not depend on the groups before it. Differentiable in x, gamma and beta.
// Throws Error{usage} on shapes that do not fit, a group below 1 or an epsilon that is not positive.
Tensor batch_norm_train(const Tensor& x, const Tensor& gamma, const Tensor& beta, const BatchNormOptions& options = {},
                        const MomentSums& sums = {});

// The same for a part of a batch whose other parts the members of `group` have: normalises by the moments of all of it,
// whatever options.group says. Every member calls it, also with an empty part, and runs its gradient, which calls
// `group` again: it must live until then.
Tensor batch_norm_together(const Tensor& x, const Tensor& gamma, const Tensor& beta, GroupSum& group,
                           const BatchNormOptions& options = {}, const MomentSums& sums = {});

// While it lives, layers that normalise in training on this thread take batch_norm_together().
class WholeBatch {
 public:
  explicit WholeBatch(GroupSum& group);
  ~WholeBatch();
  WholeBatch(const WholeBatch&) = delete;
  WholeBatch& operator=(const WholeBatch&) = delete;

  // The group of the one that lives; null if there is none.
  static GroupSum* current();
};

// Normalises by given moments. Differentiable in x, gamma and beta; the moments are constants.
Tensor batch_norm_eval(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& mean,
                       const Tensor& variance, const BatchNormOptions& options = {});

}  // namespace lockring::ops
