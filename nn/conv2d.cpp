#include "nn/conv2d.h"

#include "ops/conv2d.h"
#include "ops/conv_relu_pool.h"

namespace lockring::nn {

Conv2d::Conv2d(std::int64_t in, std::int64_t out, std::int64_t kernel, Conv2dLayerOptions options)
    : weight_(add_parameter("weight", {out, kernel, kernel, in}, ParameterKind::weight,
                            Initializer::he_normal(kernel * kernel * in))),
      options_(options) {
  if (options_.bias) bias_ = &add_parameter("bias", {out}, ParameterKind::bias, Initializer::constant(0));
}

Tensor Conv2d::forward(const Tensor& x, const Context& /*context*/) const {
  const Tensor bias = bias_ != nullptr ? bias_->tensor() : Tensor();
  return ops::conv2d(x, weight_.tensor(), bias,
                     {.stride = options_.stride, .padding = options_.padding, .activation = options_.activation},
                     packed_);
}

void Conv2d::refresh_own(Purpose /*purpose*/) { ops::pack_conv2d_weights(weight_.tensor(), options_.stride, packed_); }

ConvReluPool::ConvReluPool(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t padding)
    : weight_(add_parameter("weight", {out, kernel, kernel, in}, ParameterKind::weight,
                            Initializer::he_normal(kernel * kernel * in))),
      bias_(add_parameter("bias", {out}, ParameterKind::bias, Initializer::constant(0))),
      padding_(padding) {}

Tensor ConvReluPool::forward(const Tensor& x, const Context& /*context*/) const {
  return ops::conv_relu_pool(x, weight_.tensor(), bias_.tensor(), padding_, packed_);
}

void ConvReluPool::refresh_own(Purpose /*purpose*/) { ops::pack_conv2d_weights(weight_.tensor(), 1, packed_); }

}  // namespace lockring::nn
