// The base of layers and models: named parameters, named children, a forward function.
//
// forward() is const and keeps no state, so threads that serve can share one module. In training a module belongs to
// one replica, whose gradients gather in its parameters' leaves.
#pragma once

#include "core/tensor.h"
#include "nn/parameter.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lockring::nn {

// Called after each layer of a Sequential with the layer's path ("block1.body.1.conv") and its output.
using ForwardObserver = std::function<void(const std::string& path, const Tensor& output)>;

// What a forward pass is for. Random layers draw from (seed, step, sample): where a sample is computed changes nothing.
struct Context {
  bool training = false;
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  const std::int64_t* step_in_memory = nullptr;  // of a GPU: read there instead, if set
  std::int64_t first_sample = 0;                 // number within the global batch of the input's first row
  const ForwardObserver* observer = nullptr;
  // What images and activations are between layers; bf16 on GPUs only. Parameters and their gradients are of float32.
  DType precision = DType::f32;
};

// What copies made of the parameters are for: in training they are made anew each step, in inference once.
enum class Purpose { training, inference };

class Module {
 public:
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  virtual Tensor forward(const Tensor& x, const Context& context) const = 0;

  // Every parameter of this module and its children, in the order of construction, under its path ("conv1.weight").
  using ParameterVisitor = std::function<void(const std::string& path, Parameter& parameter)>;
  void for_each_parameter(const ParameterVisitor& visit, const std::string& prefix = "");

  // Brings copies made of the parameters (packed weights) up to date, here and in the children.
  void refresh(Purpose purpose);

 protected:
  Parameter& add_parameter(std::string name, const Shape& shape, ParameterKind kind, Initializer initializer);
  template <class M>
  M& add_child(std::string name, std::unique_ptr<M> child) {
    M& added = *child;
    children_.emplace_back(std::move(name), std::move(child));
    return added;
  }
  using Child = std::pair<std::string, std::unique_ptr<Module>>;
  const std::vector<Child>& children() const { return children_; }

 private:
  virtual void refresh_own(Purpose /*purpose*/) {}

  std::vector<std::unique_ptr<Parameter>> parameters_;
  std::vector<Child> children_;
};

}  // namespace lockring::nn
