#include "nn/schedule.h"

#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockring::nn {
namespace {

TEST(Schedule, ConstantStaysAfterWarmUp) {
  const Schedule plain({.name = "constant", .learning_rate = 0.5, .total_steps = 10});
  for (const int step : {1, 5, 10, 1000}) EXPECT_EQ(plain.learning_rate(step), 0.5);
  const Schedule warm({.name = "constant", .learning_rate = 0.5, .total_steps = 10, .warmup_steps = 4});
  EXPECT_DOUBLE_EQ(warm.learning_rate(1), 0.125);
  EXPECT_DOUBLE_EQ(warm.learning_rate(3), 0.375);
  EXPECT_DOUBLE_EQ(warm.learning_rate(4), 0.5);
  EXPECT_DOUBLE_EQ(warm.learning_rate(5), 0.5);
}

TEST(Schedule, StepFallsAtItsMilestones) {
  const Schedule schedule({.name = "step", .learning_rate = 1, .total_steps = 100, .warmup_steps = 2});
  EXPECT_DOUBLE_EQ(schedule.learning_rate(1), 0.5);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(50), 1);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(51), 0.1);  // half of the steps are made
  EXPECT_DOUBLE_EQ(schedule.learning_rate(75), 0.1);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(76), 0.01);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(101), 0.01);
  const Schedule own({.name = "step", .learning_rate = 1, .total_steps = 4, .milestones = {0.25}, .decay = 0.5});
  EXPECT_DOUBLE_EQ(own.learning_rate(1), 1);
  EXPECT_DOUBLE_EQ(own.learning_rate(2), 0.5);
}

TEST(Schedule, CosineFallsTowardsZeroOverWhatWarmUpLeaves) {
  const Schedule schedule({.name = "cosine", .learning_rate = 2, .total_steps = 100, .warmup_steps = 20});
  EXPECT_DOUBLE_EQ(schedule.learning_rate(20), 2);
  EXPECT_DOUBLE_EQ(schedule.learning_rate(21), 2);
  EXPECT_NEAR(schedule.learning_rate(41), 1 + std::sqrt(0.5), 1e-12);  // a quarter of the way
  EXPECT_NEAR(schedule.learning_rate(61), 1, 1e-12);
  EXPECT_GT(schedule.learning_rate(100), 0);
  EXPECT_LT(schedule.learning_rate(100), 0.001);
  EXPECT_EQ(schedule.learning_rate(5000), schedule.learning_rate(100));
}

// torch.optim.lr_scheduler.OneCycleLR(max_lr=1, total_steps=100), at the step counted from 0.
TEST(Schedule, OneCycleIsPyTorchs) {
  const Schedule schedule({.name = "onecycle", .learning_rate = 1, .total_steps = 100});
  EXPECT_NEAR(schedule.learning_rate(1), 0.04, 1e-12);
  EXPECT_NEAR(schedule.learning_rate(30), 1, 1e-12);  // the peak, at 0.3 * 100 - 1 from 0
  EXPECT_NEAR(schedule.learning_rate(100), 0.04 / 1e4, 1e-12);
  EXPECT_NEAR(schedule.learning_rate(65), 0.5 * (1 + 4e-6), 1e-12);  // half-way down
  for (int step = 2; step <= 30; ++step) EXPECT_GT(schedule.learning_rate(step), schedule.learning_rate(step - 1));
  for (int step = 31; step <= 100; ++step) EXPECT_LT(schedule.learning_rate(step), schedule.learning_rate(step - 1));
  EXPECT_EQ(schedule.learning_rate(101), schedule.learning_rate(100));
}

TEST(Schedule, OneCycleRisesForAsLongAsWarmUpSays) {
  const Schedule schedule({.name = "onecycle", .learning_rate = 1, .total_steps = 100, .warmup_steps = 10});
  EXPECT_NEAR(schedule.learning_rate(1), 0.04, 1e-12);
  EXPECT_NEAR(schedule.learning_rate(10), 1, 1e-12);
  EXPECT_LT(schedule.learning_rate(11), 1);
}

TEST(Schedule, ShortRunsHaveFiniteRates) {
  for (const std::string& name : schedule_names()) {
    for (const int total : {1, 2, 3, 4}) {
      for (int warmup = 0; warmup < total; ++warmup) {
        const Schedule schedule({.name = name, .learning_rate = 1, .total_steps = total, .warmup_steps = warmup});
        for (int step = 1; step <= total; ++step) {
          EXPECT_GT(schedule.learning_rate(step), 0) << name << " " << total << " " << warmup << " " << step;
          EXPECT_LE(schedule.learning_rate(step), 1) << name << " " << total << " " << warmup << " " << step;
        }
      }
    }
  }
}

TEST(Schedule, RefusesWhatMakesNoSense) {
  const auto expect_refused = [](std::string_view part, ScheduleOptions options) {
    expect_error(ErrorCode::usage, part, [&] { Schedule{std::move(options)}; });
  };
  expect_refused("'cosin' (did you mean 'cosine'?)", {.name = "cosin"});
  expect_refused("at least one step, not 0", {.total_steps = 0});
  expect_refused("10 of 10 steps", {.total_steps = 10, .warmup_steps = 10});
  expect_refused("learning rate", {.learning_rate = NAN});
  expect_refused("milestones", {.name = "step", .milestones = {0.7, 0.3}});
  expect_refused("milestones", {.name = "step", .milestones = {30}});
  expect_refused("decay", {.decay = 0});
}

}  // namespace
}  // namespace lockring::nn
