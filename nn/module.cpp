#include "nn/module.h"

namespace lockring::nn {

Parameter& Module::add_parameter(std::string name, const Shape& shape, ParameterKind kind, Initializer initializer) {
  auto parameter = std::make_unique<Parameter>();
  parameter->name = std::move(name);
  parameter->shape = shape;
  parameter->kind = kind;
  parameter->initializer = initializer;
  parameters_.push_back(std::move(parameter));
  return *parameters_.back();
}

void Module::for_each_parameter(const ParameterVisitor& visit, const std::string& prefix) {
  for (const auto& parameter : parameters_) visit(prefix + parameter->name, *parameter);
  for (const auto& [name, child] : children_) child->for_each_parameter(visit, prefix + name + ".");
}

void Module::refresh(Purpose purpose) {
  refresh_own(purpose);
  for (const auto& [name, child] : children_) child->refresh(purpose);
}

}  // namespace lockring::nn
