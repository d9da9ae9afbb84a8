// A fully connected layer: [n][in] to [n][out].
#pragma once

#include "nn/module.h"
#include "ops/activation.h"

namespace lockring::nn {

class Linear : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, Activation activation = Activation::none);
  Tensor forward(const Tensor& x, const Context& context) const override;

 private:
  void refresh_own(Purpose purpose) override;

  Parameter& weight_;
  Parameter& bias_;
  Activation activation_;
  Tensor packed_;
};

}  // namespace lockring::nn
