#include "nn/model.h"

#include "nn/layers.h"
#include "nn/linear.h"
#include "nn/sequential.h"
#include "ops/cross_entropy.h"
#include "tests/nn/toy_module.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

namespace lockring::nn {
namespace {

std::unique_ptr<Sequential> two_layers(std::int64_t hidden = 5) {
  auto root = std::make_unique<Sequential>();
  root->add<Linear>("a", 3, hidden, Activation::relu).add<Linear>("b", hidden, 4);
  return root;
}

TEST(ArenaLayout, AlignsEachSegmentInOrder) {
  const auto layout = toy_layout();
  const std::vector<Segment>& segments = layout->segments();
  ASSERT_EQ(segments.size(), 4u);
  EXPECT_EQ(segments[0].name, "a.weight");
  EXPECT_EQ(segments[3].name, "b.weight");
  std::int64_t end = 0;
  for (const Segment& segment : segments) {
    EXPECT_EQ(segment.offset, (end + 15) / 16 * 16) << segment.name;
    end = segment.end();
  }
  EXPECT_EQ(layout->padded_end(0), segments[1].offset);
  EXPECT_EQ(layout->padded_end(3), layout->elements());
  EXPECT_EQ(layout->elements(), (end + 15) / 16 * 16);
  EXPECT_EQ(layout->trainable(), 50 * 7 + 13 + 9001);
}

TEST(ArenaLayout, FindsByName) {
  const auto layout = toy_layout();
  ASSERT_NE(layout->find("a.bias"), nullptr);
  EXPECT_EQ(to_string(layout->find("a.bias")->shape), "[13]");
  EXPECT_EQ(layout->find("a.bia"), nullptr);
  EXPECT_EQ(layout->find(""), nullptr);
}

TEST(ArenaLayout, PlanTellsLayoutsApart) {
  EXPECT_EQ(toy_layout()->plan(), toy_layout()->plan());
  EXPECT_NE(toy_layout(8)->plan(), toy_layout(7)->plan());
  const auto plan = [](const std::string& name, const Shape& shape, ParameterKind kind) {
    struct One final : Module {
      One(const std::string& name, const Shape& shape, ParameterKind kind) {
        add_parameter(name, shape, kind, Initializer::constant(0));
      }
      Tensor forward(const Tensor& x, const Context&) const override { return x; }
    } one(name, shape, kind);
    return ArenaLayout(one).plan();
  };
  const std::string base = plan("a", {2, 3}, ParameterKind::weight);
  EXPECT_NE(plan("b", {2, 3}, ParameterKind::weight), base);
  EXPECT_NE(plan("a", {3, 2}, ParameterKind::weight), base);
  EXPECT_NE(plan("a", {2, 3}, ParameterKind::bias), base);
}

TEST(ArenaLayout, RefusesANameThatOccursTwice) {
  Sequential root;
  root.add<Linear>("same", 2, 2).add<Linear>("same", 2, 2);
  expect_error(ErrorCode::usage, "two parameters are named 'same.weight'", [&] { const ArenaLayout layout(root); });
}

TEST(Arena, ViewsAreRangesOfOneZeroBuffer) {
  Arena arena(toy_layout());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.buffer().data()) % 64, 0u);
  EXPECT_TRUE(std::ranges::all_of(arena.buffer().values(), [](float value) { return value == 0; }));
  const Segment& segment = *arena.layout().find("norm.mean");
  arena.view(segment).data()[3] = 5;
  EXPECT_EQ(arena.buffer().data()[segment.offset + 3], 5);
  const Arena copy = arena;
  EXPECT_EQ(copy.buffer().data(), arena.buffer().data());
  EXPECT_FALSE(Arena().defined());
}

TEST(Model, KeepsThePaddingZero) {
  const Model model(two_layers(), 1);
  double outside = 0;
  for (const float value : model.parameters().buffer().values()) outside += std::abs(value);
  for (const Segment& segment : model.layout().segments())
    for (const float value : model.parameters().view(segment).values()) outside -= std::abs(value);
  EXPECT_NEAR(outside, 0, 1e-12);
}

TEST(Model, EachParameterDrawsFromItsOwnStream) {
  // The second layer's values do not depend on how many the first one drew.
  const Model small(two_layers(5), 1);
  auto root = std::make_unique<Sequential>();
  root->add<Linear>("a", 300, 5).add<Linear>("b", 5, 4);
  const Model large(std::move(root), 1);
  const auto second = [](const Model& model) { return model.parameters().view(*model.layout().find("b.weight")); };
  expect_same_bits(second(large), second(small));
}

TEST(Model, SharesTheParametersItIsGiven) {
  Model model(two_layers(), 1);
  Model replica(two_layers(), model.parameters());
  EXPECT_EQ(replica.parameters().buffer().data(), model.parameters().buffer().data());
  expect_error(ErrorCode::usage, "another architecture", [&] { Model(two_layers(6), model.parameters()); });
}

class ModelGradientsTest : public testing::Test {
 protected:
  // The loss of `rows` images; its gradients go where the model's are bound.
  void add_gradients(std::int64_t rows, std::uint64_t seed) {
    const Tensor labels = Tensor::zeros({rows}, DType::i32);
    backward(ops::cross_entropy(model_.forward(random_tensor({rows, 3}, seed)), labels));
  }

  Model model_{two_layers(), 1};
  Arena gradients_{model_.parameters().shared_layout()};
};

TEST_F(ModelGradientsTest, GatherInTheArenaFromScratch) {
  std::ranges::fill(gradients_.buffer().values(), NAN);
  model_.bind_gradients(gradients_);
  add_gradients(2, 5);
  for (const Segment& segment : model_.layout().segments())
    for (const float value : gradients_.view(segment).values()) ASSERT_TRUE(std::isfinite(value)) << segment.name;
}

TEST_F(ModelGradientsTest, AddUpOverMicroBatches) {
  const auto gradient = [&](std::initializer_list<std::uint64_t> seeds) {
    Arena arena(model_.parameters().shared_layout());
    model_.bind_gradients(arena);
    for (const std::uint64_t seed : seeds) add_gradients(3, seed);
    return arena.buffer();
  };
  expect_near(gradient({5, 6}), sum_of(gradient({5}), gradient({6})), 1e-6);
}

TEST_F(ModelGradientsTest, CompleteWithZeroWhereNoneArrived) {
  // A shard without samples.
  Tensor buffer = gradients_.buffer();
  for (const Segment& segment : model_.layout().segments()) std::ranges::fill(gradients_.view(segment).values(), NAN);
  model_.bind_gradients(gradients_);
  model_.complete_gradients();
  for (const float value : buffer.values()) ASSERT_EQ(value, 0);
  add_gradients(2, 5);
  const Tensor before = buffer.clone();
  model_.complete_gradients();
  expect_same_bits(buffer, before);
}

TEST(Model, InfersInParts) {
  const Model model(two_layers(), 1);
  const Tensor x = random_tensor({11, 3});
  const Tensor logits = model.infer(x, 0);
  EXPECT_EQ(to_string(logits.shape()), "[11, 4]");
  EXPECT_EQ(live_nodes(), 0);
  for (const std::int64_t rows : {1, 4, 11, 100}) expect_same_bits(model.infer(x, rows), logits);
  EXPECT_EQ(model.infer(x.slice(0, 0), 4).size(0), 0);
}

TEST(FirstBadLayer, NamesTheFirstOutputThatIsNotFinite) {
  Model model(two_layers(), 1);
  const Tensor x = random_tensor({2, 3});
  EXPECT_EQ(first_bad_layer(model, x, {}), "");
  const auto spoil = [&](const std::string& name, float value) {
    model.parameters().view(*model.layout().find(name)).data()[0] = value;
    model.refresh(Purpose::training);
  };
  spoil("b.bias", std::numeric_limits<float>::infinity());
  EXPECT_EQ(first_bad_layer(model, x, {}), "b");
  spoil("a.bias", NAN);
  EXPECT_EQ(first_bad_layer(model, x, {}), "a");
  EXPECT_EQ(live_nodes(), 0);
}

TEST(FirstBadLayer, NamesItWithinABlock) {
  auto body = std::make_unique<Sequential>();
  body->add<Linear>("1", 3, 3).add<Linear>("2", 3, 3);
  auto root = std::make_unique<Sequential>();
  root->add<Flatten>("flatten").add<Residual>("block", std::move(body)).add<Linear>("dense", 3, 2);
  Model model(std::move(root), 1);
  model.parameters().view(*model.layout().find("block.body.2.bias")).data()[0] = NAN;
  EXPECT_EQ(first_bad_layer(model, random_tensor({2, 3}), {.training = true}), "block.body.2");
}

}  // namespace
}  // namespace lockring::nn
