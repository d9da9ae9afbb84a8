#include "apps/train/optimizer_store.h"
#include "models/models.h"
#include "nn/gradient_norm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockring::app {
namespace {

const models::ImageSpec kImages{18, 18, 1, 10};

std::unique_ptr<nn::Model> model() {
  return std::make_unique<nn::Model>(models::find_architecture("mlp").build(kImages), 3);
}

nn::Arena gradient_of(const nn::Model& model, float value) {
  nn::Arena gradient(model.parameters().shared_layout());
  for (const nn::Segment& segment : model.layout().segments())
    std::ranges::fill(gradient.view(segment).values(), value);
  return gradient;
}

std::vector<float> values_of(const nn::Model& model) {
  const std::span values = model.parameters().buffer().values();
  return {values.begin(), values.end()};
}

TEST(OptimizerStore, AsynchronousUpdatesAreTheOptimizersOwn) {
  const auto served = model(), direct = model();
  OptimizerStore store(*served, {.optimizer = {.name = "adam"}, .workers = 2});
  const auto optimizer = nn::make_optimizer({.name = "adam"}, direct->parameters());
  const dist::Slice all{0, direct->layout().elements()};
  for (std::int64_t update = 1; update <= 3; ++update) {
    const nn::Arena gradient = gradient_of(*direct, 0.5F);
    const float* starts[] = {gradient.buffer().data()};
    const double squares = store.apply({.step = 0, .learning_rate = 0.1, .count = 4}, starts, all);
    EXPECT_DOUBLE_EQ(squares, nn::square_sum(direct->layout(), starts[0], 0, all.end));
    optimizer->update(direct->parameters().buffer().data(), {.end = all.end,
                                                             .gradient = starts[0],
                                                             .gradient_scale = 0.25,
                                                             .statistic_scale = 0.25,
                                                             .learning_rate = 0.1,
                                                             .step = update});
    EXPECT_EQ(values_of(*served), values_of(*direct)) << update;
  }
}

TEST(OptimizerStore, MovesItsSliceOnly) {
  const auto served = model();
  OptimizerStore store(*served, {.optimizer = {.name = "sgd"}});
  const std::vector<float> before = values_of(*served);
  const dist::Slice slice{nn::kSquareSumBlock, 2 * nn::kSquareSumBlock};
  const std::vector<float> gradient(nn::kSquareSumBlock, 1);
  const float* starts[] = {gradient.data()};
  store.apply({.learning_rate = 0.1, .count = 1}, starts, slice);
  const std::vector<float> after = values_of(*served);
  for (std::int64_t i = 0; i < std::ssize(after); ++i)
    ASSERT_EQ(after[i] == before[i], i < slice.begin || i >= slice.end) << i;
}

TEST(OptimizerStore, WhatIsNotFiniteMovesNothing) {
  const auto served = model();
  OptimizerStore store(*served, {.optimizer = {.name = "sgd"}});
  const std::vector<float> before = values_of(*served);
  const nn::Arena gradient = gradient_of(*served, std::numeric_limits<float>::infinity());
  const float* starts[] = {gradient.buffer().data()};
  EXPECT_FALSE(std::isfinite(store.apply({.learning_rate = 1, .count = 1}, starts, {0, std::ssize(before)})));
  EXPECT_EQ(values_of(*served), before);
  // Nor does a worker whose part of the batch was empty.
  const nn::Arena finite = gradient_of(*served, 1);
  starts[0] = finite.buffer().data();
  EXPECT_EQ(store.apply({.learning_rate = 1, .count = 0}, starts, {0, std::ssize(before)}), 0);
  EXPECT_EQ(values_of(*served), before);
}

TEST(OptimizerStore, TellsOfItsArenasAndSignals) {
  const auto served = model();
  int request = 0;
  OptimizerStore store(*served,
                       {.optimizer = {.name = "adam", .ema_decay = 0.9}, .stop_request = [&] { return request; }});
  EXPECT_EQ(store.arenas().size(), 4);  // parameters, two moments, their average
  EXPECT_EQ(store.arenas()[0], served->parameters().buffer().data());
  EXPECT_EQ(store.stop_request(), 0);
  request = 15;
  EXPECT_EQ(store.stop_request(), 15);
}

}  // namespace
}  // namespace lockring::app
