#include "apps/train/trainer.h"

#include "core/allocator.h"
#include "core/cpu.h"
#include "models/models.h"
#include "nn/layers.h"
#include "nn/linear.h"
#include "nn/sequential.h"
#include "ops/argmax.h"
#include "ops/cross_entropy.h"
#include "tests/apps/small_training.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace lockring::app {
namespace {

constexpr models::ImageSpec kImages{kSmallImage, kSmallImage, 1, 10};

// Plain gradient descent with a rate of 1 unless changed: a step then subtracts the mean gradient itself.
TrainerOptions options_for(const char* model) {
  const models::Architecture& architecture = models::find_architecture(model);
  TrainerOptions options;
  options.build = [&architecture] { return architecture.build(kImages); };
  options.micro_batch = architecture.micro_batch;
  options.seed = 7;
  options.optimizer = {.name = "sgd"};
  return options;
}

class TrainerTest : public testing::Test {
 protected:
  // The batch of `count` samples that step `step` takes.
  std::span<const std::uint32_t> batch(std::int64_t count, std::int64_t step = 0) const {
    return std::span(order_).subspan(step * 64 % 256, count);
  }
  // Logits and labels of a batch of epoch 2.
  Tensor logits_of(const nn::Model& model, std::span<const std::uint32_t> samples, Tensor& labels,
                   const nn::Context& context = {}) const {
    data::Batch batch = data::Batch::empty({kSmallImage, kSmallImage, 1}, std::ssize(samples), false);
    transform_.fill(split_, samples, {0, std::ssize(samples)}, 7, 2, batch);
    labels = batch.labels;
    return model.forward(batch.images, context);
  }

  const data::Split split_ = learnable_split(320, 3);
  data::Transform transform_ = data::Transform::parse("normalize:0.4:0.3,crop:2,flip");
  const std::vector<std::uint32_t> order_ = data::epoch_order(data::all_samples(320), 7, 0);
};

Tensor parameters_of(Trainer& trainer) { return trainer.model().parameters().buffer().clone(); }

// a - b
Tensor difference(const Tensor& a, const Tensor& b) {
  Tensor result = a.clone();
  for (std::int64_t i = 0; i < a.elements(); ++i) result.data()[i] -= b.data()[i];
  return result;
}

double norm(const Tensor& tensor) {
  double squares = 0;
  for (const double value : tensor.values()) squares += value * value;
  return std::sqrt(squares);
}

struct Placement {
  int replicas;
  std::int64_t shards;
  std::int64_t micro_batch;
  std::int64_t batch;
};

class TrainerPlacementTest : public TrainerTest, public testing::WithParamInterface<Placement> {};

TEST_P(TrainerPlacementTest, TheGradientIsThatOfTheGlobalMean) {
  const Placement placement = GetParam();
  TrainerOptions options = options_for("cnn_dropout");
  options.replicas = placement.replicas;
  options.shards = placement.shards;
  options.micro_batch = placement.micro_batch;
  options.label_smoothing = 0.1;
  Trainer trainer(options, split_, transform_);
  const Tensor before = parameters_of(trainer);
  const StepResult result = trainer.step(batch(placement.batch), 2, 3, 1);

  nn::Model whole(options.build(), options.seed);
  nn::Arena gradient(whole.parameters().shared_layout());
  whole.bind_gradients(gradient);
  Tensor labels;
  const nn::Context context{.training = true, .seed = options.seed, .step = 3};
  const Tensor logits = logits_of(whole, batch(placement.batch), labels, context);
  const Tensor loss = ops::cross_entropy(logits, labels, 0.1F);
  backward(loss);
  for (float& value : gradient.buffer().values()) value /= static_cast<float>(placement.batch);
  expect_near(difference(before, parameters_of(trainer)), gradient.buffer(), 1e-5);
  EXPECT_EQ(result.count, placement.batch);
  EXPECT_EQ(result.correct, ops::count_correct(logits, labels));
  EXPECT_NEAR(result.loss_sum, loss.item(), 1e-4 * placement.batch);
  EXPECT_NEAR(result.gradient_norm, norm(gradient.buffer()), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(, TrainerPlacementTest,
                         testing::Values(Placement{1, 0, 0, 64}, Placement{1, 0, 16, 64}, Placement{2, 0, 16, 64},
                                         Placement{2, 4, 7, 61}, Placement{3, 3, 5, 64}, Placement{1, 8, 1, 37},
                                         Placement{2, 4, 16, 3}, Placement{2, 8, 16, 1}, Placement{4, 0, 0, 2}),
                         [](const auto& info) {
                           const Placement& p = info.param;
                           return fmt::format("{}_replicas_{}_shards_of_{}_by_{}", p.replicas, p.shards, p.batch,
                                              p.micro_batch);
                         });

class TrainerModelTest : public TrainerTest, public testing::WithParamInterface<const char*> {
 protected:
  // Everything that the parameters can depend on, at once.
  TrainerOptions options(int replicas, std::int64_t shards = 4) const {
    TrainerOptions options = options_for(GetParam());
    options.replicas = replicas;
    options.shards = shards;
    options.optimizer = {.name = "adamw", .weight_decay = 0.01, .ema_decay = 0.9};
    options.label_smoothing = 0.1;
    options.clip_norm = 0.5;
    return options;
  }
};

TEST_P(TrainerModelTest, TheBitsDoNotDependOnTheNumberOfReplicas) {
  Trainer one(options(1), split_, transform_);
  Trainer two(options(2), split_, transform_);
  Trainer four(options(4), split_, transform_);
  std::int64_t step = 0;
  for (const std::int64_t count : {64, 61, 37, 3, 1, 2, 64}) {
    const StepResult result = one.step(batch(count, step), 2, step, 1e-3);
    for (Trainer* other : {&two, &four}) {
      const StepResult theirs = other->step(batch(count, step), 2, step, 1e-3);
      EXPECT_EQ(theirs.loss_sum, result.loss_sum);
      EXPECT_EQ(theirs.correct, result.correct);
      EXPECT_EQ(theirs.gradient_norm, result.gradient_norm);
    }
    ++step;
  }
  for (Trainer* other : {&two, &four}) {
    expect_same_bits(parameters_of(*other), parameters_of(one));
    for (std::size_t i = 0; i < one.optimizer().state().size(); ++i)
      expect_same_bits(other->optimizer().state()[i].arena.buffer(), one.optimizer().state()[i].arena.buffer(),
                       one.optimizer().state()[i].name);
  }
}

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

TEST_P(TrainerModelTest, ASteadyStepAllocatesNothing) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer keeps no freed memory, or touches memory of its own";
#endif
  Trainer trainer(options(2, 0), split_, transform_);
  std::int64_t step = 0;
  for (; step < 8; ++step) trainer.step(batch(64, step), 0, step, 1e-3);
  const std::int64_t blocks = allocator_stats().system_allocations;
  const AllocationCounter allocations(AllocationCounter::Scope::all_threads);
  // The system may take a page away at any time, so the quietest of a few steps counts.
  long fewest_faults = std::numeric_limits<long>::max();
  for (; step < 16; ++step) {
    const long before = page_faults();
    trainer.step(batch(64, step), 0, step, 1e-3);
    fewest_faults = std::min(fewest_faults, page_faults() - before);
  }
  EXPECT_EQ(allocations.count(), 0);
  EXPECT_EQ(allocator_stats().system_allocations, blocks);
  EXPECT_EQ(fewest_faults, 0);
}

TEST_P(TrainerModelTest, ThreadsThatLoadChangeNoBit) {
  std::vector<std::unique_ptr<Trainer>> trainers;
  for (const int threads : {0, 1, 3}) {
    TrainerOptions options = this->options(2);
    options.loader_threads = threads;
    trainers.push_back(std::make_unique<Trainer>(options, split_, transform_));
    std::int64_t step = 0;
    for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
      const std::vector<std::uint32_t> order = data::epoch_order(data::all_samples(150), 7, epoch);
      trainers.back()->expect(order, 64, epoch);
      for (std::size_t begin = 0; begin < order.size(); begin += 64)
        trainers.back()->step(std::span(order).subspan(begin, std::min<std::size_t>(64, order.size() - begin)), epoch,
                              step++, 1e-3);
    }
    EXPECT_TRUE(std::ranges::equal(trainers.back()->model().parameters().buffer().values(),
                                   trainers.front()->model().parameters().buffer().values()))
        << threads << " threads";
  }
}

TEST_P(TrainerModelTest, LearnsWhatThereIsToLearn) {
  TrainerOptions easy = options(2, 0);
  easy.clip_norm = 0;
  const data::Transform plain = data::Transform::parse("normalize:0.4:0.3");
  Trainer trainer(easy, split_, plain);
  StepResult last;
  for (std::int64_t step = 0; step < 60; ++step) last = trainer.step(batch(64, step), 0, step, 3e-3);
  EXPECT_GT(last.correct, 32);
}

INSTANTIATE_TEST_SUITE_P(, TrainerModelTest, testing::Values("mlp", "cnn", "cnn_bn", "cnn_dropout", "lenet"),
                         [](const auto& info) { return std::string(info.param); });

TEST_F(TrainerTest, ALongGradientIsCutToTheClipNorm) {
  TrainerOptions options = options_for("mlp");
  const auto first_step = [&](double clip_norm) {
    options.clip_norm = clip_norm;
    Trainer trainer(options, split_, transform_);
    const Tensor before = parameters_of(trainer);
    const double reported = trainer.step(batch(64), 0, 0, 1).gradient_norm;
    return std::pair(norm(difference(before, parameters_of(trainer))), reported);
  };
  const auto [free_length, free_norm] = first_step(0);
  EXPECT_NEAR(free_length, free_norm, 1e-4);
  const auto [cut_length, cut_norm] = first_step(free_norm / 4);
  EXPECT_NEAR(cut_length, free_norm / 4, 1e-4);
  EXPECT_EQ(cut_norm, free_norm) << "the norm before clipping is what is reported";
  EXPECT_EQ(first_step(2 * free_norm).first, free_length);
}

// Batch normalisation tells which images were computed together.
TEST_F(TrainerTest, ARemainderJoinsTheLastMicroBatch) {
  TrainerOptions options = options_for("cnn_bn");
  const auto after_a_step = [&](std::int64_t micro_batch) {
    options.micro_batch = micro_batch;
    Trainer trainer(options, split_, transform_);
    trainer.step(batch(61), 0, 0, 0.1);
    return parameters_of(trainer);
  };
  expect_same_bits(after_a_step(32), after_a_step(0));
  EXPECT_GT(norm(difference(after_a_step(16), after_a_step(0))), 1e-3);
}

TEST_F(TrainerTest, ClippingLeavesRunningStatisticsAlone) {
  TrainerOptions options = options_for("cnn_bn");
  options.replicas = 2;
  const auto after_a_step = [&](double clip_norm) {
    options.clip_norm = clip_norm;
    Trainer trainer(options, split_, transform_);
    trainer.step(batch(64), 0, 0, 0.1);
    return trainer.model().parameters();
  };
  const nn::Arena clipped = after_a_step(0.01);
  const nn::Arena free = after_a_step(0);
  for (const nn::Segment& segment : free.layout().segments()) {
    if (segment.kind == nn::ParameterKind::statistic)
      expect_same_bits(clipped.view(segment), free.view(segment), segment.name);
  }
  EXPECT_GT(norm(difference(clipped.buffer(), free.buffer())), 1e-3);
}

TEST_F(TrainerTest, ANonFiniteLossNamesStepAndLayerAndUpdatesNothing) {
  TrainerOptions options = options_for("cnn");
  options.replicas = 2;
  options.optimizer = {.name = "adam", .ema_decay = 0.9};
  Trainer trainer(options, split_, transform_);
  trainer.step(batch(64), 0, 0, 1e-3);
  nn::Arena& parameters = trainer.model().parameters();
  float* broken = parameters.view(*parameters.layout().find("conv2.weight")).data();
  const float good = std::exchange(*broken, std::nanf(""));
  trainer.refresh();
  const Tensor before = parameters_of(trainer);
  std::vector<Tensor> state;
  for (const nn::NamedArena& named : trainer.optimizer().state()) state.push_back(named.arena.buffer().clone());

  expect_error(ErrorCode::diverged, "not finite at step 2: first in layer 'conv2'",
               [&] { trainer.step(batch(64, 1), 0, 1, 1e-3); });
  expect_same_bits(parameters_of(trainer), before);
  for (std::size_t i = 0; i < state.size(); ++i)
    expect_same_bits(trainer.optimizer().state()[i].arena.buffer(), state[i]);

  *broken = good;  // the trainer can go on
  trainer.refresh();
  EXPECT_EQ(trainer.step(batch(64, 1), 0, 1, 1e-3).count, 64);
}

// Two layers whose answers are small though the gradient between them overflows.
TEST_F(TrainerTest, ANonFiniteGradientNamesItsParameter) {
  TrainerOptions options = options_for("mlp");
  options.build = [] {
    auto model = std::make_unique<nn::Sequential>();
    model->add<nn::Flatten>("flatten")
        .add<nn::Linear>("narrow", kSmallImage * kSmallImage, 4)
        .add<nn::Linear>("wide", 4, 10);
    return model;
  };
  Trainer trainer(options, split_, transform_);
  nn::Arena& parameters = trainer.model().parameters();
  const nn::ArenaLayout& layout = parameters.layout();
  std::ranges::fill(parameters.view(*layout.find("narrow.weight")).values(), 1e-34F);
  std::ranges::fill(parameters.view(*layout.find("narrow.bias")).values(), 1e-34F);
  Tensor wide = parameters.view(*layout.find("wide.weight"));
  for (std::int64_t i = 0; i < wide.elements(); ++i) wide.data()[i] = i / 4 % 2 == 0 ? 3e38F : -3e38F;
  trainer.refresh();
  expect_error(ErrorCode::diverged, "the gradient of 'narrow.weight' is not finite at step 1",
               [&] { trainer.step(batch(64), 0, 0, 1e-3); });
}

TEST_F(TrainerTest, TheAverageFollowsTheParameters) {
  TrainerOptions options = options_for("mlp");
  options.optimizer.ema_decay = 0.5;
  Trainer trainer(options, split_, transform_);
  Tensor expected = parameters_of(trainer);
  for (std::int64_t step = 0; step < 12; ++step) {
    trainer.step(batch(64, step), 0, step, 0.1);
    // The decay is held down at first: (1 + t) / (10 + t) at step t, which counts from 1.
    const double decay = std::min(0.5, (2.0 + static_cast<double>(step)) / (11.0 + static_cast<double>(step)));
    const Tensor now = parameters_of(trainer);
    for (std::int64_t i = 0; i < now.elements(); ++i)
      expected.data()[i] = static_cast<float>(decay * expected.data()[i] + (1 - decay) * now.data()[i]);
  }
  expect_near(trainer.averaged().parameters().buffer(), expected, 1e-6);
  Tensor labels;
  const Tensor first = logits_of(trainer.averaged(), batch(64), labels).clone();
  trainer.step(batch(64), 0, 12, 0.1);
  EXPECT_GT(norm(difference(logits_of(trainer.averaged(), batch(64), labels), first)), 0) << "copies are stale";
  clear_tape();
}

TEST_F(TrainerTest, WithoutAnAverageTheModelItselfCounts) {
  Trainer trainer(options_for("mlp"), split_, transform_);
  EXPECT_EQ(&trainer.averaged(), &trainer.model());
}

TEST_F(TrainerTest, WaitingForDataIsPartOfTheStep) {
  TrainerOptions options = options_for("lenet");
  options.shards = 8;
  Trainer trainer(options, split_, transform_);
  for (std::int64_t step = 0; step < 3; ++step) {
    const auto start = std::chrono::steady_clock::now();
    const double waited = trainer.step(batch(64, step), 0, step, 1e-3).data_seconds;
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    EXPECT_GT(waited, 0);
    EXPECT_LT(waited, took);
  }
}

TEST_F(TrainerTest, RefusesWhatCannotBe) {
  const auto refuse = [&](const char* part, const std::function<void(TrainerOptions&)>& change) {
    TrainerOptions options = options_for("mlp");
    change(options);
    expect_error(ErrorCode::usage, part, [&] { const Trainer trainer(options, split_, transform_); });
  };
  refuse("--shards 3 is not a multiple of the 2 replicas", [](TrainerOptions& o) { o.replicas = 2, o.shards = 3; });
  refuse("--micro-batch -1", [](TrainerOptions& o) { o.micro_batch = -1; });
  refuse("--clip-norm -1", [](TrainerOptions& o) { o.clip_norm = -1; });
  refuse("a team of 0 replicas", [](TrainerOptions& o) { o.replicas = 0; });
  refuse("there is no optimizer 'sdg' (did you mean 'sgd'?)", [](TrainerOptions& o) { o.optimizer.name = "sdg"; });
}

}  // namespace
}  // namespace lockring::app
