#include "nn/sequential.h"

#include "ops/elementwise.h"

namespace lockring::nn {
namespace {

// The child's own layers are observed under its name, then the child itself.
Tensor forward_observed(const std::string& name, const Module& child, const Tensor& x, const Context& context) {
  if (context.observer == nullptr) return child.forward(x, context);
  const ForwardObserver inner = [&](const std::string& path, const Tensor& output) {
    (*context.observer)(name + "." + path, output);
  };
  Context inside = context;
  inside.observer = &inner;
  const Tensor y = child.forward(x, inside);
  (*context.observer)(name, y);
  return y;
}

}  // namespace

Tensor Sequential::forward(const Tensor& x, const Context& context) const {
  Tensor y = x;
  for (const auto& [name, layer] : children()) y = forward_observed(name, *layer, y, context);
  return y;
}

Tensor Residual::forward(const Tensor& x, const Context& context) const {
  const auto& [name, body] = children().front();
  return ops::add(x, forward_observed(name, *body, x, context));
}

}  // namespace lockring::nn
