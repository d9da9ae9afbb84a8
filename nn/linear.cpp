#include "nn/linear.h"

#include "ops/linear.h"

namespace lockring::nn {
namespace {

// In training, packing weights that are larger than this costs a step more than the product on unpacked ones.
constexpr std::int64_t kPackedAtMost = std::int64_t{1} << 17;

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, Activation activation)
    : weight_(add_parameter("weight", {out, in}, ParameterKind::weight, Initializer::he_normal(in))),
      bias_(add_parameter("bias", {out}, ParameterKind::bias, Initializer::constant(0))),
      activation_(activation) {}

Tensor Linear::forward(const Tensor& x, const Context& /*context*/) const {
  return ops::linear(x, weight_.tensor(), bias_.tensor(), activation_, packed_);
}

void Linear::refresh_own(Purpose purpose) {
  if (purpose == Purpose::inference || weight_.tensor().elements() <= kPackedAtMost) {
    ops::pack_linear_weights(weight_.tensor(), packed_);
  } else {
    packed_ = Tensor();
  }
}

}  // namespace lockring::nn
