// Layers without parameters.
#pragma once

#include "nn/module.h"

namespace lockring::nn {

// [n][...] to [n][rest].
class Flatten : public Module {
 public:
  Tensor forward(const Tensor& x, const Context& context) const override;
};

class Relu : public Module {
 public:
  Tensor forward(const Tensor& x, const Context& context) const override;
};

class MaxPool2d : public Module {
 public:
  explicit MaxPool2d(std::int64_t kernel, std::int64_t stride = 0)
      : kernel_(kernel), stride_(stride ? stride : kernel) {}
  Tensor forward(const Tensor& x, const Context& context) const override;

 private:
  std::int64_t kernel_, stride_;
};

// [n][h][w][c] to [n][c].
class GlobalMaxPool : public Module {
 public:
  Tensor forward(const Tensor& x, const Context& context) const override;
};
class GlobalAvgPool : public Module {
 public:
  Tensor forward(const Tensor& x, const Context& context) const override;
};

// In training sets values to zero with `probability` and scales the others up (Srivastava et al., JMLR 2014).
// Which ones depends on (seed, step, layer, sample) alone; `layer` tells the dropouts of a model apart.
class Dropout : public Module {
 public:
  explicit Dropout(float probability, std::uint32_t layer = 0) : probability_(probability), layer_(layer) {}
  Tensor forward(const Tensor& x, const Context& context) const override;

 private:
  float probability_;
  std::uint32_t layer_;
};

}  // namespace lockring::nn
