// Convolution layers on NHWC images with square kernels.
#pragma once

#include "nn/module.h"
#include "ops/activation.h"

namespace lockring::nn {

struct Conv2dLayerOptions {
  std::int64_t stride = 1;
  std::int64_t padding = 0;
  bool bias = true;  // not needed in front of a batch norm
  Activation activation = Activation::none;
};

class Conv2d : public Module {
 public:
  Conv2d(std::int64_t in, std::int64_t out, std::int64_t kernel, Conv2dLayerOptions options = {});
  Tensor forward(const Tensor& x, const Context& context) const override;

 private:
  void refresh_own(Purpose purpose) override;

  Parameter& weight_;
  Parameter* bias_ = nullptr;
  Conv2dLayerOptions options_;
  Tensor packed_;
};

// Convolution, ReLU and 2 x 2 max pooling in one pass (ops/conv_relu_pool.h).
class ConvReluPool : public Module {
 public:
  ConvReluPool(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t padding = 0);
  Tensor forward(const Tensor& x, const Context& context) const override;

 private:
  void refresh_own(Purpose purpose) override;

  Parameter& weight_;
  Parameter& bias_;
  std::int64_t padding_;
  Tensor packed_;
};

}  // namespace lockring::nn
