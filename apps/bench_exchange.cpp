// lockring bench exchange: what a step takes besides computing: the exchange of gradients, and the optimizer.
#include "apps/bench_support.h"
#include "apps/cluster/timed_all_reduce.h"
#include "apps/command.h"
#include "apps/job.h"
#include "apps/option_values.h"
#include "core/error.h"
#include "distributed/mirrored_group.h"
#include "models/models.h"
#include "nn/model.h"
#include "nn/optimizer.h"
#include "ops/gradient_sums_kernel.h"

#include <CLI/CLI.hpp>

#include <algorithm>

namespace lockring::app {
namespace {

struct Options {
  std::string model = "mlp";
  std::string optimizer = "adam";
  std::string algorithm = "mirrored";
  int replicas = 1;
  double seconds = 1;
  bool json = false;
};

nn::Update update_of(const float* gradient, dist::Slice slice) {
  return {.begin = slice.begin, .end = slice.end, .gradient = gradient, .learning_rate = 1e-4};
}

void fill(Tensor buffer) { std::ranges::fill(buffer.values(), 1e-3F); }

// As in training on one machine: all replicas see one copy of the parameters, and each sums and updates its slice.
double time_mirrored_step(dist::World& world, dist::MirroredGroup& group, const Options& options) {
  nn::ArenaMemory memory;
  if (world.node().size() > 1)
    memory = [&](std::int64_t elements) {
      const std::shared_ptr<std::byte> bytes = group.allocate(elements * 4);
      return Tensor::view_of(Storage::wrap(bytes.get(), elements * 4, bytes), 0, {elements});
    };
  const nn::Model model(models::find_architecture(options.model).build({}), 1, memory);
  const auto optimizer = nn::make_optimizer({.name = options.optimizer}, model.parameters());
  std::vector<nn::Arena> gradients;
  std::vector<const float*> starts;
  for (int i = 0; i < group.size(); ++i) {
    gradients.emplace_back(model.parameters().shared_layout());
    fill(gradients.back().buffer());
    starts.push_back(gradients.back().buffer().data());
  }
  Tensor parameters = model.parameters().buffer();
  float* sums = gradients[0].buffer().data();
  world.all().barrier();
  const std::function<void(int)> step = [&](int replica) {
    const dist::Slice slice = dist::slice_of(model.layout().elements(), 16, group.size(), group.first() + replica);
    group.team().meet(replica);
    kTreeSum.on()(starts.data(), group.size(), slice.begin, slice.end, sums);
    optimizer->update(parameters.data(), update_of(sums, slice));
    group.team().meet(replica);
  };
  return time_together(world, options.seconds, [&] { group.team().run(step); });
}

// As with an all-reduce between ranks: each has all parameters, and updates all of them.
double time_replicated_step(dist::World& world, const Options& options) {
  const nn::Model model(models::find_architecture(options.model).build({}), 1);
  const auto optimizer = nn::make_optimizer({.name = options.optimizer}, model.parameters());
  nn::Arena gradient(model.parameters().shared_layout());
  fill(gradient.buffer());
  Tensor parameters = model.parameters().buffer();
  const std::span<float> values = gradient.buffer().values();
  return time_together(world, options.seconds, [&] {
    world.all().all_reduce(values, dist::parse_algorithm(options.algorithm));
    optimizer->update(parameters.data(), update_of(values.data(), {0, model.layout().elements()}));
  });
}

int run(const Options& options) {
  dist::World& world = job();
  const bool mirrored = options.algorithm == "mirrored";
  check(!mirrored || world.nodes() == 1, "mirrored replicas share the memory of one machine; this job has {}",
        world.nodes());
  check(mirrored || options.replicas == 1, "--replicas {}: {} is between ranks; only mirrored knows replicas",
        options.replicas, options.algorithm);
  dist::MirroredGroup group(world, options.replicas);
  const double seconds = mirrored ? time_mirrored_step(world, group, options) : time_replicated_step(world, options);
  if (world.rank() != 0) return 0;
  print_figures({{"model", options.model},
                 {"optimizer", options.optimizer},
                 {"algorithm", options.algorithm},
                 {"ranks", std::int64_t{world.size()}},
                 {"replicas", std::int64_t{group.job_size()}},
                 {"time_us", seconds * 1e6}},
                options.json);
  return 0;
}

}  // namespace

Action bench_exchange(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--model", options->model, "architecture");
  app.add_option("--optimizer", options->optimizer, "sgd, adam or adamw")->check(one_of(nn::optimizer_names()));
  app.add_option("--allreduce", options->algorithm, "mirrored, or between ranks that update all parameters each")
      ->check(one_of({"mirrored", "ring", "recursive-doubling", "halving-doubling", "mpi"}));
  app.add_option("--replicas", options->replicas, "threads a rank, for mirrored")->check(within(1, 1024));
  app.add_option("--seconds", options->seconds, "time to measure for")->check(above(0));
  app.add_flag("--json", options->json, "print one JSON object");
  app.footer(
      "Example:\n  lockring bench exchange --replicas 2\n"
      "  mpirun -np 2 lockring bench exchange --model mlp --optimizer adam");
  return [options] { return run(*options); };
}

}  // namespace lockring::app
