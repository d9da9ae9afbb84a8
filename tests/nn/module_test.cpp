#include "nn/module.h"

#include "nn/linear.h"
#include "nn/sequential.h"
#include "ops/elementwise.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lockring::nn {
namespace {

// y = scale * x, from a copy of the scale that refresh brings up to date.
class Scale final : public Module {
 public:
  explicit Scale(float scale)
      : scale_(add_parameter("scale", {1}, ParameterKind::weight, Initializer::constant(scale))) {
    scale_.leaf.set_value(Tensor::full({1}, scale));
  }
  Tensor forward(const Tensor& x, const Context&) const override {
    Tensor y = x.clone();
    for (float& value : y.values()) value *= copy_;
    return y;
  }
  Purpose purpose() const { return purpose_; }

 private:
  void refresh_own(Purpose purpose) override {
    copy_ = scale_.tensor().item();
    purpose_ = purpose;
  }

  Parameter& scale_;
  float copy_ = 0;
  Purpose purpose_ = Purpose::inference;
};

// A module with parameters of its own besides its children's.
class Parent final : public Module {
 public:
  Parent() {
    add_parameter("last", {2}, ParameterKind::bias, Initializer::constant(0));
    add_child("one", std::make_unique<Scale>(2.0F));
    add_child("two", std::make_unique<Linear>(3, 4));
    add_parameter("first", {5}, ParameterKind::statistic, Initializer::constant(0));
  }
  Tensor forward(const Tensor& x, const Context&) const override { return x; }
};

std::vector<std::string> paths(Module& module, const std::string& prefix = "") {
  std::vector<std::string> found;
  module.for_each_parameter([&](const std::string& path, Parameter&) { found.push_back(path); }, prefix);
  return found;
}

TEST(Module, NamesParametersByTheirPath) {
  Parent parent;
  EXPECT_EQ(paths(parent), (std::vector<std::string>{"last", "first", "one.scale", "two.weight", "two.bias"}));
  EXPECT_EQ(paths(parent, "a.").front(), "a.last");
  Sequential nested;
  auto inner = std::make_unique<Sequential>();
  inner->add<Scale>("x", 1.0F);
  nested.add<Scale>("a", 1.0F).add<Residual>("b", std::move(inner));
  EXPECT_EQ(paths(nested), (std::vector<std::string>{"a.scale", "b.body.x.scale"}));
}

TEST(Module, ParametersKeepWhatTheyWereMadeWith) {
  Parent parent;
  parent.for_each_parameter([](const std::string& path, Parameter& parameter) {
    if (path == "first") {
      EXPECT_EQ(parameter.kind, ParameterKind::statistic);
      EXPECT_EQ(to_string(parameter.shape), "[5]");
    } else if (path == "two.weight") {
      EXPECT_EQ(parameter.kind, ParameterKind::weight);
      EXPECT_EQ(to_string(parameter.shape), "[4, 3]");
      EXPECT_EQ(parameter.name, "weight");
    }
  });
}

TEST(Sequential, AppliesItsLayersInOrder) {
  Sequential empty;
  expect_values(empty.forward(Tensor::from({1, 2}, {2}), {}), {1, 2});
  Sequential both;
  both.add<Scale>("a", 2.0F).add<Scale>("b", 5.0F);
  both.refresh(Purpose::inference);
  expect_values(both.forward(Tensor::from({1, -2}, {2}), {}), {10, -20});
}

TEST(Module, RefreshReachesEveryChildWithItsPurpose) {
  Sequential root;
  auto scale = std::make_unique<Scale>(3.0F);
  const Scale& deep = *scale;
  root.add<Residual>("a", std::move(scale));
  for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
    root.refresh(purpose);
    EXPECT_EQ(deep.purpose(), purpose);
  }
  Tensor memory = Tensor::full({1}, 4);
  root.for_each_parameter([&](const std::string&, Parameter& parameter) { parameter.leaf.set_value(memory); });
  const Tensor x = Tensor::from({1}, {1});
  expect_values(root.forward(x, {}), {1 + 3});
  root.refresh(Purpose::training);
  expect_values(root.forward(x, {}), {1 + 4});
}

TEST(Residual, AddsItsInput) {
  Residual residual(std::make_unique<Scale>(3.0F));
  residual.refresh(Purpose::inference);
  expect_values(residual.forward(Tensor::from({1, -2}, {2}), {}), {4, -8});
}

TEST(Residual, GradientTakesBothWays) {
  class Twice final : public Module {
   public:
    Tensor forward(const Tensor& x, const Context&) const override { return ops::add(x, x); }
  };
  const Residual residual(std::make_unique<Twice>());
  const Leaf x(Tensor::from({1, 2}, {2}));
  backward(residual.forward(x.tensor(), {}), Tensor::from({1, 10}, {2}));
  expect_values(x.grad(), {3, 30});
}

TEST(Observer, SeesEachLayerUnderItsWholePath) {
  auto body = std::make_unique<Sequential>();
  body->add<Scale>("1.x", 2.0F).add<Scale>("2.x", 3.0F);
  Sequential root;
  root.add<Scale>("a", 1.0F).add<Residual>("b", std::move(body)).add<Scale>("c", 2.0F);
  root.refresh(Purpose::inference);
  std::vector<std::pair<std::string, float>> seen;
  const ForwardObserver observer = [&](const std::string& path, const Tensor& output) {
    seen.emplace_back(path, output.item());
  };
  const Tensor y = root.forward(Tensor::from({1}, {1}), {.observer = &observer});
  EXPECT_EQ(y.item(), 14);
  const std::vector<std::pair<std::string, float>> expected{
      {"a", 1.0F}, {"b.body.1.x", 2.0F}, {"b.body.2.x", 6.0F}, {"b.body", 6.0F}, {"b", 7.0F}, {"c", 14.0F}};
  EXPECT_EQ(seen, expected);
}

}  // namespace
}  // namespace lockring::nn
