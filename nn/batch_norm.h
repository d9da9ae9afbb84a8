// Batch normalisation over groups of images: ghost batch norm (Hoffer et al., "Train longer, generalize better",
// NIPS 2017). The group's size belongs to the recipe, so results do not depend on replicas or micro-batches.
#pragma once

#include "nn/module.h"
#include "ops/activation.h"

namespace lockring::nn {

// Images normalised together. Micro-batches are multiples of it; a remainder joins the last group.
constexpr std::int64_t kBatchNormGroup = 32;

class BatchNorm : public Module {
 public:
  explicit BatchNorm(std::int64_t channels, Activation activation = Activation::none);
  // In training the groups' moments gather where the gradients of the statistics would.
  Tensor forward(const Tensor& x, const Context& context) const override;

 private:
  Parameter& scale_;
  Parameter& shift_;
  Parameter& mean_;
  Parameter& variance_;
  Activation activation_;
};

}  // namespace lockring::nn
