// A parameter of a module: a named tensor that training changes.
#pragma once

#include "core/autograd.h"
#include "core/rng.h"

#include <cstdint>
#include <string>

namespace lockring::nn {

enum class ParameterKind {
  weight,     // weight decay applies
  bias,       // and normalisation's scale and shift: no weight decay
  statistic,  // a running average, moved by what training saw (batch norm's mean and variance), not by gradients
};

// How a parameter begins.
struct Initializer {
  enum class Kind { constant, uniform, normal };
  Kind kind = Kind::constant;
  float value = 0;  // the constant, the bound of the uniform, or the deviation of the normal distribution

  static Initializer constant(float value) { return {Kind::constant, value}; }
  // Normal with deviation sqrt(2/fan_in): He et al., "Delving Deep into Rectifiers", ICCV 2015.
  static Initializer he_normal(std::int64_t fan_in);

  // Fills `tensor` from `rng`.
  void fill(Tensor& tensor, Rng& rng) const;
};

// Owned by its module and never moved, since the tape points at the leaf. Its value and gradient are views of the
// model's arenas once the module belongs to a Model.
struct Parameter {
  std::string name;
  Shape shape;
  ParameterKind kind;
  Initializer initializer;
  Leaf leaf;

  const Tensor& tensor() const { return leaf.tensor(); }
};

}  // namespace lockring::nn
