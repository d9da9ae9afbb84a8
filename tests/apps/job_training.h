// A few steps of training by the ranks of a job, and by one process alone, to compare.
#pragma once

#include "apps/evaluation.h"
#include "apps/train/trainer.h"
#include "models/models.h"
#include "tests/apps/small_training.h"

#include <functional>
#include <string>
#include <vector>

namespace lockring::app {

struct JobResult {
  std::vector<float> parameters;
  std::vector<float> state;  // of the optimizer
  std::vector<double> losses;
  std::int64_t correct = 0;  // of the evaluation
  double evaluated_loss = 0;

  bool operator==(const JobResult&) const = default;
};

constexpr std::uint64_t kJobSeed = 7;
constexpr double kJobClipNorm = 0.5;
inline nn::OptimizerOptions job_optimizer() { return {.name = "adamw", .weight_decay = 0.01, .ema_decay = 0.9}; }

// Steps of even, uneven and almost empty batches in four shards, and an evaluation.
inline JobResult train_in_job(dist::World* world, const std::string& model, int replicas,
                              const std::function<void(TrainerOptions&)>& change = {}) {
  const models::Architecture& architecture = models::find_architecture(model);
  const models::ImageSpec images{kSmallImage, kSmallImage, 1, 10};
  const data::Split split = learnable_split(320, 3);
  const data::Transform transform = data::Transform::parse("normalize:0.4:0.3,crop:2,flip,mixup:0.2");
  TrainerOptions options;
  options.build = [&] { return architecture.build(images); };
  options.world = world;
  options.replicas = replicas;
  options.shards = 4;
  options.exchange = dist::Algorithm::halving_doubling;
  options.micro_batch = architecture.micro_batch;
  options.seed = kJobSeed;
  options.optimizer = job_optimizer();
  options.clip_norm = kJobClipNorm;
  options.check_parameters = 2;
  if (change) change(options);
  Trainer trainer(options, split, transform);
  const std::vector<std::uint32_t> order = data::epoch_order(data::all_samples(320), 7, 0);
  JobResult result;
  trainer.synchronize();
  std::int64_t step = 0;
  for (const std::int64_t count : {64, 61, 3, 1, 64, 64}) {
    const StepResult taken = trainer.step(std::span(order).subspan(step * 32, count), 2, step, 1e-3);
    result.losses.push_back(taken.loss_sum);
    result.losses.push_back(taken.gradient_norm);
    ++step;
  }
  trainer.settle();
  const auto append = [](std::vector<float>& to, const nn::Arena& arena) {
    const std::span values = arena.buffer().values();
    to.insert(to.end(), values.begin(), values.end());
  };
  append(result.parameters, trainer.model().parameters());
  for (const nn::NamedArena& state : trainer.optimizer().state()) append(result.state, state.arena);
  const Evaluation evaluation =
      evaluate(trainer.workers(), trainer.averaged(), split, data::all_samples(split.size()), transform);
  result.correct = evaluation.correct;
  result.evaluated_loss = evaluation.loss;
  trainer.leave_servers();
  return result;
}

}  // namespace lockring::app
