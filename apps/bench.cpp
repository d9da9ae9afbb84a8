// lockring bench train|infer|gemm: steady-state figures, warm-up left out.
#include "apps/bench_support.h"
#include "apps/command.h"
#include "apps/job.h"
#include "apps/option_values.h"
#include "apps/terminal.h"
#include "apps/train/trainer.h"
#include "core/cpu.h"
#include "core/error.h"
#include "core/peak.h"
#include "core/rng.h"
#include "core/stopwatch.h"
#include "models/models.h"
#include "ops/cpu/gemm.h"

#include <sys/resource.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <functional>

namespace lockring::app {
namespace {

long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

struct TrainBench {
  std::string model = "cnn";
  std::int64_t batch_size = 128;
  int replicas = 0;
  std::int64_t micro_batch = -1;
  std::string optimizer = "adam";
  double seconds = 3;
  bool json = false;

  int run() const;
};

int TrainBench::run() const {
  constexpr std::int64_t kSamples = 60000;
  check(batch_size > 0 && batch_size <= kSamples, "--batch-size {} is not within 1 and {}", batch_size, kSamples);
  const models::Architecture& architecture = models::find_architecture(model);
  const models::ImageSpec images;
  const data::Split split = random_split(kSamples, images);
  const data::Transform transform = data::Transform::parse("normalize:0.286:0.353");
  // All ranks of a job take as many steps, so the first says which one is the last.
  std::function<bool()> enough;
  const TrainerOptions options{.build = [&] { return architecture.build(images); },
                               .world = &job(),
                               .replicas = replicas > 0 ? replicas : cores_of_rank(),
                               .micro_batch = micro_batch >= 0 ? micro_batch : architecture.micro_batch,
                               .optimizer = {.name = optimizer},
                               .stop_request = [&] { return job().rank() == 0 && enough() ? 1 : 0; }};
  Trainer trainer(options, split, transform);
  const std::vector<std::uint32_t> order = data::epoch_order(data::all_samples(kSamples), 1, 0);
  std::int64_t step = 0;
  double data_seconds = 0;
  const auto time_steps = [&](double limit, int least) {
    std::vector<double> times;
    times.reserve(1 << 16);
    const auto start = std::chrono::steady_clock::now();
    enough = [&] { return std::ssize(times) + 1 >= least && seconds_since(start) >= limit; };
    for (StepResult result; result.stop_request == 0; ++step) {
      const std::int64_t begin = step * batch_size % (kSamples - batch_size + 1);
      const auto call = std::chrono::steady_clock::now();
      result = trainer.step(std::span(order).subspan(begin, batch_size), 0, step, 1e-4);
      times.push_back(seconds_since(call));
      data_seconds += result.data_seconds;
    }
    return times;
  };
  time_steps(seconds / 4, 5);
  const long faults = page_faults();
  data_seconds = 0;
  const std::vector<double> times = time_steps(seconds, 10);
  const double faults_per_step = static_cast<double>(page_faults() - faults) / static_cast<double>(times.size());
  const double images_per_second = static_cast<double>(times.size() * batch_size) / sum(times);
  double peak = measure_fma_gflops(options.replicas);
  job().all().all_reduce(std::span(&peak, 1));
  if (job().rank() != 0) return 0;
  const double flop = 2.0 * static_cast<double>(3 * models::multiply_adds(architecture, images) -
                                                models::first_layer_multiply_adds(architecture, images));
  print_figures({{"model", model},
                 {"batch_size", batch_size},
                 {"replicas", trainer.workers().total},
                 {"micro_batch", options.micro_batch},
                 {"images_per_second", images_per_second},
                 {"step_us_p50", quantile(times, 0.5) * 1e6},
                 {"peak_gflops", peak},
                 {"peak_share", images_per_second * flop / peak / 1e9},
                 {"page_faults_per_step", faults_per_step},
                 {"data_share", data_seconds / sum(times)}},
                json);
  return 0;
}

struct InferBench {
  std::string model = "cnn";
  std::int64_t batch_size = 1;
  int threads = 1;
  double seconds = 2;
  bool json = false;

  int run() const;
};

int InferBench::run() const {
  check(batch_size > 0, "--batch-size {} is not possible", batch_size);
  const models::Architecture& architecture = models::find_architecture(model);
  const models::ImageSpec images;
  const nn::Model net(architecture.build(images), 1);
  dist::ReplicaTeam team(threads);
  Tensor x = Tensor::empty({batch_size, images.height, images.width, images.channels});
  Rng rng(1, RngStream::test);
  for (float& value : x.values()) value = rng.uniform();
  std::vector<std::vector<double>> times(threads);
  team.run([&](int thread) {
    const auto forward = [&] { net.infer(x, architecture.micro_batch); };
    time_calls(seconds / 4, 10, forward);
    team.meet(thread);
    times[thread] = time_calls(seconds, 10, forward);
  });
  std::vector<double> all;
  double images_per_second = 0;
  for (const std::vector<double>& one : times) {
    all.insert(all.end(), one.begin(), one.end());
    images_per_second += static_cast<double>(one.size() * batch_size) / sum(one);
  }
  print_figures({{"model", model},
                 {"batch_size", batch_size},
                 {"threads", threads},
                 {"latency_us_p50", quantile(all, 0.5) * 1e6},
                 {"latency_us_p99", quantile(all, 0.99) * 1e6},
                 {"images_per_second", images_per_second}},
                json);
  return 0;
}

struct GemmBench {
  std::int64_t rows = 512;
  std::int64_t cols = 512;
  std::int64_t inner = 512;
  double seconds = 1;
  bool json = false;

  int run() const;
};

int GemmBench::run() const {
  check(rows > 0 && cols > 0 && inner > 0, "a product of {} x {} x {} is not possible", rows, cols, inner);
  const Tensor left = Tensor::full({rows, inner}, 0.5F);
  const Tensor right = Tensor::full({inner, cols}, 0.25F);
  Tensor out = Tensor::empty({rows, cols});
  const auto product = [&] {
    kernels::cpu::gemm({rows, cols, inner, inner, cols, cols}, left.data(), right.data(), out.data());
  };
  time_calls(seconds / 4, 5, product);
  const std::vector<double> times = time_calls(seconds, 10, product);
  const double flop = 2.0 * static_cast<double>(rows) * static_cast<double>(cols) * static_cast<double>(inner);
  print_figures({{"gflops", flop / quantile(times, 0.5) / 1e9}, {"peak_gflops", measure_fma_gflops(1)}}, json);
  return 0;
}

// Options every figure has.
template <class Bench>
std::shared_ptr<Bench> declare(CLI::App& app, const char* example) {
  auto bench = std::make_shared<Bench>();
  app.add_option("--seconds", bench->seconds, "time to measure for")->check(above(0));
  app.add_flag("--json", bench->json, "print one JSON object");
  app.footer(std::string("Example:\n  ") + example);
  return bench;
}

}  // namespace

Action bench_train(CLI::App& app) {
  auto bench = declare<TrainBench>(app, "lockring bench train --model cnn --batch-size 128 --json");
  app.add_option("--model", bench->model, "architecture");
  app.add_option("--batch-size", bench->batch_size, "images a step, over all replicas");
  app.add_option("--replicas", bench->replicas, "threads; 0 for one a core");
  app.add_option("--micro-batch", bench->micro_batch, "images at once; -1 for the model's own, 0 for the whole shard");
  app.add_option("--optimizer", bench->optimizer, "sgd, adam or adamw");
  return [bench] { return bench->run(); };
}

Action bench_infer(CLI::App& app) {
  auto bench = declare<InferBench>(app, "lockring bench infer --model cnn --batch-size 1 --threads 1 --json");
  app.add_option("--model", bench->model, "architecture");
  app.add_option("--batch-size", bench->batch_size, "images a call");
  app.add_option("--threads", bench->threads, "threads that share the model");
  return [bench] { return bench->run(); };
}

Action bench_gemm(CLI::App& app) {
  auto bench = declare<GemmBench>(app, "lockring bench gemm --rows 512 --cols 512 --inner 512 --json");
  app.add_option("--rows", bench->rows, "rows of the result");
  app.add_option("--cols", bench->cols, "columns of the result");
  app.add_option("--inner", bench->inner, "length of each sum");
  return [bench] { return bench->run(); };
}

}  // namespace lockring::app
