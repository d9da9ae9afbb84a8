#include "apps/cluster/compute_probe.h"

#include "apps/bench_support.h"
#include "apps/train/trainer.h"
#include "nn/gradient_norm.h"

#include <algorithm>

namespace lockring::app {
namespace {

// One thread's: a trainer of its own.
ComputeTime time_replica(const TrainerOptions& options, const data::Split& split, const data::Transform& transform,
                         std::int64_t shard, double seconds) {
  Trainer trainer(options, split, transform);
  const std::vector<std::uint32_t> order = data::all_samples(split.size());
  std::int64_t step = 0;
  const auto train = [&] { trainer.step(std::span(order).first(shard), 0, step++, 1e-4); };
  constexpr int kLeast = 5;
  time_calls(seconds / 4, kLeast, train);
  const double whole = quantile(time_calls(seconds, kLeast, train), 0.5);

  const nn::Arena gradient(trainer.model().parameters().shared_layout());
  const std::int64_t elements = trainer.model().layout().elements();
  std::vector<double> blocks((elements + nn::kSquareSumBlock - 1) / nn::kSquareSumBlock);
  const auto update = [&] {
    nn::square_sum(trainer.model().layout(), gradient.buffer().data(), 0, elements, blocks);
    trainer.optimizer().update(trainer.model().parameters().buffer().data(),
                               {.end = elements, .gradient = gradient.buffer().data(), .learning_rate = 1e-4});
  };
  const double updating = quantile(time_calls(seconds / 4, kLeast, update), 0.5);
  return {std::max(whole - updating, 0.0), updating};
}

}  // namespace

ComputeTime time_compute(const models::Architecture& architecture, const models::ImageSpec& images,
                         const std::string& optimizer, std::int64_t shard, int replicas, double seconds) {
  const data::Split split = random_split(shard, images);
  const data::Transform transform = data::Transform::parse("normalize:0.286:0.353");
  const TrainerOptions options{.build = [&] { return architecture.build(images); },
                               .micro_batch = architecture.micro_batch,
                               .optimizer = {.name = optimizer}};
  std::vector<ComputeTime> times(replicas);
  dist::ReplicaTeam team(replicas);
  team.run([&](int replica) {
    times[replica] = time_replica(options, split, transform, shard, seconds);
    team.meet(replica);
  });
  ComputeTime slowest;
  for (const ComputeTime& time : times) {
    slowest.step = std::max(slowest.step, time.step);
    slowest.update = std::max(slowest.update, time.update);
  }
  return slowest;
}

}  // namespace lockring::app
