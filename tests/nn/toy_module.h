// A module of parameters of every kind, that computes nothing: for tests of what treats arenas.
#pragma once

#include "nn/arena.h"
#include "nn/module.h"

#include <memory>

namespace lockring::nn {

class ToyModule final : public Module {
 public:
  explicit ToyModule(std::int64_t width = 7) {
    add_parameter("a.weight", {50, width}, ParameterKind::weight, Initializer::constant(0));
    add_parameter("a.bias", {13}, ParameterKind::bias, Initializer::constant(0));
    add_parameter("norm.mean", {20}, ParameterKind::statistic, Initializer::constant(0));
    add_parameter("b.weight", {9001}, ParameterKind::weight, Initializer::constant(0));
  }
  Tensor forward(const Tensor& x, const Context&) const override { return x; }
};

inline std::shared_ptr<const ArenaLayout> toy_layout(std::int64_t width = 7) {
  ToyModule module(width);
  return std::make_shared<const ArenaLayout>(module);
}

// Random values in every segment, zero padding.
inline Arena random_arena(const std::shared_ptr<const ArenaLayout>& layout, std::uint64_t seed) {
  Arena arena(layout);
  Rng rng(seed, RngStream::test);
  for (const Segment& segment : layout->segments()) {
    Tensor view = arena.view(segment);
    Initializer{Initializer::Kind::uniform, 1}.fill(view, rng);
  }
  return arena;
}

}  // namespace lockring::nn
