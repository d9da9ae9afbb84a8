// lockring bench train|infer|gemm: steady-state figures, warm-up left out.
#include "apps/bench_support.h"
#include "apps/command.h"
#include "apps/device_option.h"
#include "apps/job.h"
#include "apps/option_values.h"
#include "apps/terminal.h"
#include "apps/train/options.h"
#include "apps/train/trainer.h"
#include "core/cpu.h"
#include "core/device_memory.h"
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
  std::string device = "auto";
  std::string precision = "float32";
  bool no_graphs = false;
  std::int64_t batch_size = 128;
  int replicas = 0;
  std::int64_t micro_batch = -1;
  std::string optimizer = "adam";
  std::string exchange = "ring";
  std::string wire = "f32";
  std::string bucket_bytes = TrainOptions().bucket_bytes;
  double seconds = 3;
  bool json = false;

  DeviceChoice devices() const;
  int run() const;
};

// Takes steps of a trainer, as many on every rank.
class Steps {
 public:
  static constexpr std::int64_t kSamples = 60000;

  Steps(const TrainerOptions& options, std::int64_t batch_size)
      : split_(random_split(kSamples, models::ImageSpec())),
        order_(data::epoch_order(data::all_samples(kSamples), 1, 0)),
        batch_size_(batch_size),
        trainer_(with_end(options), split_, transform_) {}

  // For so long, or at least so many; the time of each.
  std::vector<double> run(double limit, int least);
  Trainer& trainer() { return trainer_; }
  // Of the last run: sums over its steps, and the time that each waited for other machines.
  double data_seconds() const { return data_seconds_; }
  const std::vector<double>& exchange_seconds() const { return exchange_seconds_; }

 private:
  // The first rank says which step is the last.
  TrainerOptions with_end(TrainerOptions options) {
    options.stop_request = [this] { return job().rank() == 0 && enough_() ? 1 : 0; };
    return options;
  }

  data::Split split_;
  data::Transform transform_ = data::Transform::parse("normalize:0.286:0.353");
  std::vector<std::uint32_t> order_;
  std::int64_t batch_size_;
  std::function<bool()> enough_;
  Trainer trainer_;
  std::int64_t step_ = 0;
  double data_seconds_ = 0;
  std::vector<double> exchange_seconds_;
};

std::vector<double> Steps::run(double limit, int least) {
  std::vector<double> times;
  times.reserve(1 << 16);
  exchange_seconds_.clear();
  exchange_seconds_.reserve(1 << 16);
  data_seconds_ = 0;
  const auto start = std::chrono::steady_clock::now();
  enough_ = [&] { return std::ssize(times) + 1 >= least && seconds_since(start) >= limit; };
  auto last = start;
  int under_way = 0;
  const auto finish = [&] {
    const StepResult result = trainer_.finish();
    --under_way;
    times.push_back(seconds_since(last));
    last = std::chrono::steady_clock::now();
    exchange_seconds_.push_back(result.exchange_seconds);
    data_seconds_ += result.data_seconds;
    return result.stop_request == 0;
  };
  for (bool more = true; more; ++step_) {
    const std::int64_t begin = step_ * batch_size_ % (kSamples - batch_size_ + 1);
    trainer_.start(std::span(order_).subspan(begin, batch_size_), 0, step_, 1e-4);
    if (++under_way > (trainer_.runs_ahead() ? 1 : 0)) more = finish();
  }
  while (under_way > 0) finish();
  return times;
}

// What the backward hides of the exchange between machines, in turns with and without; medians.
std::vector<Figure> overlap_figures(Steps& steps, double seconds) {
  Trainer& trainer = steps.trainer();
  if (trainer.exchange() == nullptr) return {};
  constexpr int kTurns = 5;
  std::vector<double> exposed, whole, times, late_times;
  const auto append = [](std::vector<double>& to, const std::vector<double>& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (int turn = 0; turn < kTurns; ++turn) {
    trainer.exchange()->set_overlap(false);
    append(late_times, steps.run(seconds / kTurns / 2, 5));
    append(whole, steps.exchange_seconds());
    trainer.exchange()->set_overlap(true);
    append(times, steps.run(seconds / kTurns / 2, 5));
    append(exposed, steps.exchange_seconds());
  }
  trainer.exchange()->set_overlap(false);
  Trace trace(trainer.options().replicas, trainer.options().devices);
  trainer.set_trace(&trace);
  steps.run(0, 10);
  trainer.set_trace(nullptr);
  trainer.exchange()->set_overlap(true);
  double backward = 0;
  for (const Trace::Share& share : trace.shares())
    if (share.part == StepPart::backward && share.layer.empty()) backward = share.microseconds;
  const double exchange = quantile(whole, 0.5) * 1e6, left = quantile(exposed, 0.5) * 1e6;
  return {{"buckets", std::ssize(trainer.exchange()->buckets())},
          {"exchange_us", exchange},
          {"exchange_waited_us", left},
          {"backward_us", backward},
          {"overlap", (exchange - left) / std::min(exchange, backward)},
          {"overlapped_step_us", quantile(times, 0.5) * 1e6},
          {"late_step_us", quantile(late_times, 0.5) * 1e6}};
}

DeviceChoice TrainBench::devices() const {
  const DeviceChoice choice = devices_of_rank(device);
  if (!choice.note.empty() && job().rank() == 0) fmt::print(stderr, "note: {}\n", choice.note);
  return choice;
}

int TrainBench::run() const {
  check(batch_size > 0 && batch_size <= Steps::kSamples, "--batch-size {} is not within 1 and {}", batch_size,
        Steps::kSamples);
  const models::Architecture& architecture = models::find_architecture(model);
  const models::ImageSpec images;
  const DeviceChoice place = devices();
  const int automatic = place.on_gpu() ? static_cast<int>(place.devices.size()) : cores_of_rank();
  const TrainerOptions options{.build = [&] { return architecture.build(images); },
                               .world = &job(),
                               .replicas = replicas > 0 ? replicas : automatic,
                               .devices = place.devices,
                               .precision = parse_precision(precision, place),
                               .exchange = exchange == "nccl" ? dist::Algorithm::ring : dist::parse_algorithm(exchange),
                               .wire = wire == "bf16" ? dist::Wire::bf16 : dist::Wire::f32,
                               .nccl = exchange == "nccl",
                               .bucket_bytes = parse_bytes(bucket_bytes, "--bucket-bytes"),
                               .micro_batch = micro_batch >= 0 ? micro_batch : architecture.micro_batch,
                               .gpu_micro_batch = std::max<std::int64_t>(micro_batch, 0),
                               .graphs = !no_graphs,
                               .optimizer = {.name = optimizer}};
  Steps steps(options, batch_size);
  steps.run(seconds / 4, 5);
  const long faults = page_faults();
  const std::vector<double> times = steps.run(seconds, 10);
  const double data_seconds = steps.data_seconds();
  const double faults_per_step = static_cast<double>(page_faults() - faults) / static_cast<double>(times.size());
  const double images_per_second = static_cast<double>(times.size() * batch_size) / sum(times);
  const std::vector<Figure> overlap = overlap_figures(steps, seconds);
  double peak = place.on_gpu() ? 0 : measure_fma_gflops(options.replicas);
  job().all().all_reduce(std::span(&peak, 1));
  if (job().rank() != 0) return 0;
  const double flop = 2.0 * static_cast<double>(3 * models::multiply_adds(architecture, images) -
                                                models::first_layer_multiply_adds(architecture, images));
  std::vector<Figure> figures = {{"model", model},
                                 {"batch_size", batch_size},
                                 {"device", to_string(place.devices[0])},
                                 {"precision", precision},
                                 {"recorded", std::int64_t{steps.trainer().launches_graphs()}},
                                 {"replicas", steps.trainer().workers().total},
                                 {"micro_batch", place.on_gpu() ? options.gpu_micro_batch : options.micro_batch},
                                 {"images_per_second", images_per_second},
                                 {"gflops", images_per_second * flop / 1e9},
                                 {"step_us_p50", quantile(times, 0.5) * 1e6},
                                 {"page_faults_per_step", faults_per_step},
                                 {"data_share", data_seconds / sum(times)}};
  // A GPU's peak is a figure of its maker.
  if (!place.on_gpu())
    figures.insert(figures.end(), {{"peak_gflops", peak}, {"peak_share", images_per_second * flop / peak / 1e9}});
  figures.insert(figures.end(), overlap.begin(), overlap.end());
  print_figures(figures, json);
  return 0;
}

struct InferBench {
  std::string model = "cnn";
  std::string device = "auto";
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
  const Device place = choose_devices_and_say(device).devices[0];
  const nn::Model net(architecture.build(images), 1, nn::memory_on(place));
  device_memory::synchronize(place);
  dist::ReplicaTeam team(threads);
  Tensor x = Tensor::empty({batch_size, images.height, images.width, images.channels});
  Rng rng(1, RngStream::test);
  for (float& value : x.values()) value = rng.uniform();
  std::vector<std::vector<double>> times(threads);
  team.run([&](int thread) {
    const auto forward = [&] { net.infer(x.to(place), architecture.micro_batch).to(Device{}); };
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
                 {"device", to_string(place)},
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
  add_device_option(app, bench->device);
  add_precision_option(app, bench->precision);
  app.add_flag("--no-graphs", bench->no_graphs, "launch every kernel of a GPU's step by itself");
  app.add_option("--replicas", bench->replicas, "replicas; 0 for one a core, or one a GPU");
  app.add_option("--micro-batch", bench->micro_batch, "images at once; -1 for the device's own, 0 for the whole shard");
  app.add_option("--optimizer", bench->optimizer, "sgd, adam or adamw");
  app.add_option("--allreduce", bench->exchange, "between machines; nccl between GPUs")
      ->check(one_of({"ring", "halving-doubling", "mpi", "nccl"}));
  app.add_option("--wire", bench->wire, "between machines")->check(one_of({"f32", "bf16"}));
  app.add_option("--bucket-bytes", bench->bucket_bytes, "of the gradient, that travel together between machines");
  return [bench] { return bench->run(); };
}

Action bench_infer(CLI::App& app) {
  auto bench = declare<InferBench>(app, "lockring bench infer --model cnn --batch-size 1 --threads 1 --json");
  app.add_option("--model", bench->model, "architecture");
  app.add_option("--batch-size", bench->batch_size, "images a call");
  add_device_option(app, bench->device);
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
