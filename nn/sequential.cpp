#include "nn/sequential.h"

#include "ops/elementwise.h"

namespace lockring::nn {

Tensor Sequential::forward(const Tensor& x, const Context& context) const {
  Tensor y = x;
  for (const auto& [name, layer] : children()) {
    y = layer->forward(y, context);
    if (context.observer != nullptr) (*context.observer)(name, y);
  }
  return y;
}

Tensor Residual::forward(const Tensor& x, const Context& context) const {
  return ops::add(x, body_.forward(x, context));
}

}  // namespace lockring::nn
