#include "nn/model.h"

#include "core/device_memory.h"
#include "core/error.h"
#include "ops/all_finite.h"
#include "ops/cast.h"

#include <algorithm>

namespace lockring::nn {

Model::Model(std::unique_ptr<Module> root, std::uint64_t seed, ArenaMemory memory)
    : root_(std::move(root)), parameters_(std::make_shared<const ArenaLayout>(*root_, std::move(memory))) {
  bind_values();
  for (std::size_t i = 0; i < in_order_.size(); ++i) {
    Rng rng(seed, RngStream::init, i);
    Tensor value = in_order_[i]->tensor().detach();
    Tensor on_cpu = value.to(Device{});
    in_order_[i]->initializer.fill(on_cpu, rng);
    if (device().kind != DeviceKind::cpu) value.copy_from(on_cpu);
  }
  refresh();
}

Model::Model(std::unique_ptr<Module> root, Arena parameters)
    : root_(std::move(root)), parameters_(std::move(parameters)) {
  check(ArenaLayout(*root_).plan() == layout().plan(), "these parameters are of another architecture");
  bind_values();
  refresh();
}

Model::Model(std::unique_ptr<Module> root, const Model& other, Device device)
    : root_(std::move(root)), parameters_(std::make_shared<const ArenaLayout>(*root_, memory_on(device))) {
  check(other.layout().plan() == layout().plan(), "these parameters are of another architecture");
  parameters_.buffer().copy_from(other.parameters().buffer());
  device_memory::synchronize(device);
  bind_values();
  refresh();
}

void Model::bind_values() {
  root_->for_each_parameter([&](const std::string& path, Parameter& parameter) {
    parameter.leaf.set_value(parameters_.view(*layout().find(path)));
    in_order_.push_back(&parameter);
  });
}

Tensor Model::forward(const Tensor& x, const Context& context) const {
  return ops::cast(root_->forward(ops::cast(x, context.precision), context), DType::f32);
}

Tensor Model::infer(const Tensor& x, std::int64_t rows) const {
  const NoGrad no_grad;
  const std::int64_t count = x.size(0);
  if (rows <= 0 || count <= rows || device().kind != DeviceKind::cpu) return forward(x);
  Tensor logits;
  for (std::int64_t begin = 0; begin < count; begin += rows) {
    const std::int64_t end = std::min(begin + rows, count);
    const Tensor part = forward(x.slice(begin, end));
    if (!logits.defined()) logits = Tensor::empty(part.shape().with_leading(count));
    std::ranges::copy(part.values(), logits.slice(begin, end).data());
  }
  return logits;
}

void Model::bind_gradients(const Arena& gradients) {
  for (std::size_t i = 0; i < in_order_.size(); ++i)
    in_order_[i]->leaf.bind_gradient(gradients.view(layout().segments()[i]));
}

void Model::complete_gradients() {
  for (Parameter* parameter : in_order_) {
    if (parameter->leaf.has_gradient()) continue;
    const Tensor gradient = parameter->leaf.slot().grad;
    device_memory::clear(gradient.raw(), gradient.bytes(), gradient.device());
  }
}

std::string first_bad_layer(const Model& model, const Tensor& x, Context context) {
  const NoGrad no_grad;
  std::string bad;
  const ForwardObserver observer = [&](const std::string& path, const Tensor& output) {
    if (bad.empty() && !ops::all_finite(output)) bad = path;
  };
  context.observer = &observer;
  model.forward(x, context);
  return bad;
}

}  // namespace lockring::nn
