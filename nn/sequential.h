// Layers one after the other.
#pragma once

#include "nn/module.h"

#include <memory>
#include <string>
#include <utility>

namespace lockring::nn {

class Sequential : public Module {
 public:
  // The layer's parameters are named "NAME.…". Returns itself, so that a model reads as a list.
  template <class Layer, class... Args>
  Sequential& add(std::string name, Args&&... args) {
    add_child(std::move(name), std::make_unique<Layer>(std::forward<Args>(args)...));
    return *this;
  }

  Tensor forward(const Tensor& x, const Context& context) const override;
};

// x + body(x): He et al., "Deep Residual Learning for Image Recognition", CVPR 2016.
class Residual : public Module {
 public:
  explicit Residual(std::unique_ptr<Module> body) { add_child("body", std::move(body)); }
  Tensor forward(const Tensor& x, const Context& context) const override;
};

}  // namespace lockring::nn
