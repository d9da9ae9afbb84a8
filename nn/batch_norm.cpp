#include "nn/batch_norm.h"

#include "ops/batch_norm.h"

namespace lockring::nn {
namespace {

constexpr float kEpsilon = 1e-5F;

}  // namespace

BatchNorm::BatchNorm(std::int64_t channels, Activation activation)
    : scale_(add_parameter("scale", {channels}, ParameterKind::bias, Initializer::constant(1))),
      shift_(add_parameter("shift", {channels}, ParameterKind::bias, Initializer::constant(0))),
      mean_(add_parameter("mean", {channels}, ParameterKind::statistic, Initializer::constant(0))),
      variance_(add_parameter("variance", {channels}, ParameterKind::statistic, Initializer::constant(1))),
      activation_(activation) {}

Tensor BatchNorm::forward(const Tensor& x, const Context& context) const {
  const ops::BatchNormOptions options{.epsilon = kEpsilon, .group = kBatchNormGroup, .activation = activation_};
  if (!context.training)
    return ops::batch_norm_eval(x, scale_.tensor(), shift_.tensor(), mean_.tensor().detach(),
                                variance_.tensor().detach(), options);
  ops::MomentSums sums;
  if (grad_enabled()) sums = {mean_.leaf.slot(), variance_.leaf.slot()};
  if (GroupSum* group = ops::WholeBatch::current())
    return ops::batch_norm_together(x, scale_.tensor(), shift_.tensor(), *group, options, sums);
  return ops::batch_norm_train(x, scale_.tensor(), shift_.tensor(), options, sums);
}

}  // namespace lockring::nn
