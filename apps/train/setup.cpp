#include "apps/train/setup.h"

#include "apps/cluster/calibration.h"
#include "apps/cluster/cost_model.h"
#include "apps/cluster/shared_dataset.h"
#include "apps/job.h"
#include "apps/option_values.h"
#include "apps/train/with_servers.h"
#include "core/error.h"
#include "core/text.h"
#include "data/dataset_store.h"
#include "data/split_plan.h"
#include "distributed/device_communicator.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace lockring::app {
namespace {

constexpr std::int64_t kMostEpochs = 1'000'000'000;
constexpr std::int64_t kMostReplicas = 1024;
constexpr std::int64_t kMostTraceSteps = 1000;

// "auto" or a count.
std::int64_t count_or(const std::string& text, std::int64_t automatic, std::int64_t most, const char* option,
                      std::int64_t least = 1) {
  if (text == "auto") return automatic;
  std::int64_t count = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  check(error == std::errc() && rest == text.data() + text.size() && count >= least && count <= most,
        "{} takes 'auto' or a number from {} to {}, not '{}'", option, least, most, text);
  return count;
}

// The spec without its random parts would do for evaluation too: crop and flip act in training only.
std::string transform_spec(const TrainOptions& options) {
  return options.augment.empty() ? "normalize" : "normalize," + options.augment;
}

void check_ranges(const TrainOptions& options) {
  check(options.epochs > 0 && options.epochs <= kMostEpochs, "--epochs {} is not possible; from 1 to {}",
        options.epochs, kMostEpochs);
  check(options.batch_size > 0, "--batch-size {} is not possible; at least 1", options.batch_size);
  check(options.max_steps >= 0, "--max-steps {} is not possible", options.max_steps);
  check(options.learning_rate > 0, "--lr {} is not possible; above 0", options.learning_rate);
  check(options.shards >= 0 && options.shards <= kMostReplicas, "--shards {} is not possible; from 1 to {}",
        options.shards, kMostReplicas);
  check(options.trace_steps > 0 && options.trace_steps <= kMostTraceSteps,
        "--trace-steps {} is not possible; from 1 to {}", options.trace_steps, kMostTraceSteps);
  check(options.check_parameters >= 0, "--check-parameters {} is not possible", options.check_parameters);
  check(options.base_batch_size > 0, "--base-batch-size {} is not possible; at least 1", options.base_batch_size);
  check(options.warmup_epochs >= 0 && options.warmup_epochs <= kMostEpochs, "--warmup-epochs {} is not possible",
        options.warmup_epochs);
  check(options.warmup_epochs == 0 || options.warmup_steps == 0,
        "--warmup-epochs and --warmup-steps exclude each other");
  check(options.early_stop >= 0, "--early-stop {} is not possible", options.early_stop);
  check(options.early_stop == 0 || options.val_fraction > 0, "--early-stop needs a --val-fraction above 0");
  check(options.label_smoothing >= 0 && static_cast<float>(options.label_smoothing) < 1,
        "--label-smoothing {} is not possible; at least 0 and below 1", options.label_smoothing);
}

// Parameter servers work with what lies in the CPU's memory.
DeviceChoice devices_of(const TrainOptions& options) {
  const bool served = options.strategy == "parameter-server" && options.device == "auto";
  return devices_of_rank(served ? "cpu" : options.device);
}

int replica_count(const TrainOptions& options, const DeviceChoice& choice) {
  const auto gpus = static_cast<std::int64_t>(choice.devices.size());
  return static_cast<int>(
      count_or(options.replicas, choice.on_gpu() ? gpus : cores_of_rank(), kMostReplicas, "--replicas"));
}

int loader_thread_count(const TrainOptions& options, int automatic) {
  return static_cast<int>(count_or(options.loader_threads, automatic, kMostReplicas, "--loader-threads", 0));
}

std::int64_t micro_batch_of(const TrainOptions& options, const models::Architecture& architecture) {
  check(!options.sync_bn || options.micro_batch == "auto",
        "--micro-batch {} is not for --sync-bn, where a replica computes its part of the batch at once",
        options.micro_batch);
  if (options.sync_bn) return 0;
  return count_or(options.micro_batch, architecture.micro_batch, std::numeric_limits<std::int64_t>::max(),
                  "--micro-batch");
}

// What the images will be, once they are prepared. That can take long, so what is wrong with the options is found here.
models::ImageSpec check_before_loading(const TrainOptions& options, const std::string& dataset, const Setup& setup,
                                       const data::Transform& transform) {
  parse_precision(options.precision, setup.devices);
  replica_count(options, setup.devices);
  loader_thread_count(options, 0);
  micro_batch_of(options, *setup.architecture);
  const data::Manifest manifest = data::read_manifest(data::find_version(options.data.directory(), dataset));
  std::int64_t memory = 0;
  const Shape image = data::plan_split(manifest, "train", transform.front(), memory).image;
  transform.check_fits(image[0], image[1], image[2]);
  const models::ImageSpec images{image[0], image[1], image[2], static_cast<std::int64_t>(manifest.classes.size())};
  setup.architecture->build(images);
  return images;
}

// The replicas fill their own batches where that is quick. Otherwise the cores that they leave help; where they leave
// none, as many threads as replicas, so that none of these is held up more than the others.
int automatic_loader_threads(const Setup& setup, int replicas) {
  constexpr int kMostWithoutCores = 4;
  const bool quick = setup.dataset.train.images->access() == data::Access::memory && !setup.transform.rotates();
  const int spare = cores_of_rank() - replicas;
  return quick ? 0 : spare > 0 ? spare : std::min(replicas, kMostWithoutCores);
}

std::int64_t gradient_bytes(const Setup& setup) {
  return nn::ArenaLayout(*setup.architecture->build(setup.images)).elements() * 4;
}

// What a table that was measured says for the model's gradient on these machines, if there is one and it knows.
std::optional<dist::Algorithm> measured_exchange(const TrainOptions& options, const Setup& setup) {
  if (options.all_reduce_table.empty()) return std::nullopt;
  const AlgorithmTable table = read_calibration(options.all_reduce_table, job()).table;
  if (options.all_reduce != "auto" || job().nodes() == 1) return std::nullopt;
  std::vector<std::string> among{"halving-doubling"};
  if (options.shards == 0 || job().nodes() <= 2) among.emplace_back("ring");
  const std::string fastest = table.choose(gradient_bytes(setup), job().size(), job().nodes(), among);
  if (fastest.empty()) return std::nullopt;
  return dist::parse_algorithm(fastest);
}

// auto: several replicas, each with a GPU of its own; unless something is asked for that NCCL does not give, or a table
// knows better. All ranks decide it together.
bool uses_nccl(const TrainOptions& options, const TrainerOptions& trainer) {
  if (options.all_reduce != "auto") return options.all_reduce == "nccl";
  if (options.shards > 0 || options.wire != "f32" || options.strategy != "allreduce") return false;
  if (!options.all_reduce_table.empty() || job().size() * trainer.replicas == 1) return false;
  std::vector<Device> devices;
  for (int i = 0; i < trainer.replicas; ++i)
    devices.push_back(trainer.devices[static_cast<std::size_t>(i) % trainer.devices.size()]);
  return dist::suits_nccl(job(), devices);
}

void check_nccl(const TrainOptions& options, const DeviceChoice& choice) {
  if (options.all_reduce != "nccl") return;
  check(!dist::nccl_version().empty(),
        "--allreduce nccl: this program was built without NCCL; auto adds up on any machines");
  check(choice.on_gpu(), "--allreduce nccl adds up between GPUs, and this job computes on the CPU{}{}",
        choice.note.empty() ? "" : ": ", choice.note);
  check(options.shards == 0, "--shards gives the same bits on any machines, which --allreduce nccl does not");
  check(options.wire == "f32", "--wire bf16 is not for --allreduce nccl");
}

// From what is known to every rank, so that the bits repeat: with shards that are given, as one binary tree, whatever
// carries them; else by the number of machines and the bytes.
dist::Algorithm exchange_of(const TrainOptions& options, const Setup& setup) {
  const int machines = job().nodes();
  check(options.all_reduce != "mirrored" || machines == 1, "--allreduce mirrored is for one machine; this job has {}",
        machines);
  check(options.all_reduce != "ring" || options.shards == 0 || machines <= 2,
        "--shards gives the same bits on any machines, which --allreduce ring does not for more than two");
  check(options.all_reduce != "mpi" || options.shards == 0,
        "--shards gives the same bits on any machines, which --allreduce mpi does not");
  check(options.all_reduce != "mpi" || options.wire == "f32", "--wire bf16 is not for --allreduce mpi");
  check_nccl(options, setup.devices);
  if (options.all_reduce == "ring") return dist::Algorithm::ring;
  if (options.all_reduce == "mpi") return dist::Algorithm::mpi;
  if (const auto measured = measured_exchange(options, setup)) return *measured;
  if (options.all_reduce == "halving-doubling" || options.shards > 0) return dist::Algorithm::halving_doubling;
  return usual_exchange(machines, gradient_bytes(setup));
}

// A larger batch makes fewer and truer steps, which can be longer: in proportion (Goyal et al., "Accurate, Large
// Minibatch SGD", 2017), or as its noise falls, with the root. A pure function of the options, so that a resumed run
// has the same.
double scaled_rate(const TrainOptions& options) {
  const double ratio = static_cast<double>(options.batch_size) / static_cast<double>(options.base_batch_size);
  if (options.lr_scaling == "linear") return options.learning_rate * ratio;
  return options.lr_scaling == "sqrt" ? options.learning_rate * std::sqrt(ratio) : options.learning_rate;
}

TrainerOptions trainer_options(const TrainOptions& options, const Setup& setup) {
  TrainerOptions trainer;
  trainer.build = [architecture = setup.architecture, images = setup.images] { return architecture->build(images); };
  trainer.replicas = replica_count(options, setup.devices);
  trainer.devices = setup.devices.devices;
  trainer.precision = parse_precision(options.precision, setup.devices);
  trainer.world = &job();
  trainer.shards = options.shards;
  trainer.exchange = exchange_of(options, setup);
  trainer.nccl = uses_nccl(options, trainer);
  trainer.micro_batch = micro_batch_of(options, *setup.architecture);
  if (options.micro_batch != "auto") trainer.gpu_micro_batch = trainer.micro_batch;
  trainer.loader_threads = loader_thread_count(options, automatic_loader_threads(setup, trainer.replicas));
  trainer.seed = options.seed;
  trainer.sync_batch_norm = options.sync_bn;
  trainer.wire = options.wire == "bf16" ? dist::Wire::bf16 : dist::Wire::f32;
  trainer.bucket_bytes = parse_bytes(options.bucket_bytes, "--bucket-bytes");
  trainer.check_parameters = options.check_parameters;
  trainer.label_smoothing = options.label_smoothing;
  trainer.clip_norm = options.clip_norm;
  trainer.optimizer = optimizer_options(options);
  if (options.strategy == "parameter-server") {
    share_image_spec(whole_job(), setup.images);
    trainer.served = {&whole_job().all(), options.servers, staleness_of(options).has_value()};
  }
  return trainer;
}

}  // namespace

nn::OptimizerOptions optimizer_options(const TrainOptions& options) {
  return {.name = options.optimizer,
          .momentum = options.momentum,
          .nesterov = options.nesterov,
          .weight_decay = options.weight_decay,
          .ema_decay = options.ema};
}

std::string place_of_replicas(const Setup& setup) {
  if (!setup.devices.on_gpu()) return setup.devices.note;
  std::vector<std::string> names;
  for (const Device device : setup.devices.devices)
    if (std::ssize(names) < setup.trainer.replicas) names.push_back(to_string(device));
  return fmt::format("computing on {}", joined(names));
}

Setup make_setup(const TrainOptions& options, const DataReports& reports) {
  check_ranges(options);
  Setup setup;
  setup.architecture = &models::find_architecture(options.model);
  setup.devices = devices_of(options);
  // The statistics will be known later.
  const data::Transform draft = data::Transform::parse(transform_spec(options), {{0.5F}, {0.5F}});
  const std::string dataset = provide_dataset(job(), options.data.directory(), options.data.dataset,
                                              [&](const std::string& text) { reports.note(text); });
  setup.images = check_before_loading(options, dataset, setup, draft);
  setup.dataset =
      load_shared_dataset(job(), options.data.directory(), dataset, reports.load_options(options.cache, draft.front()));
  setup.transform = data::Transform::parse(transform_spec(options), setup.dataset.statistics);
  setup.transform.check_fits(setup.images.height, setup.images.width, setup.images.channels);
  setup.holdout = data::stratified_holdout(setup.dataset.train.labels, options.val_fraction, options.seed);
  const auto train_images = static_cast<std::int64_t>(setup.holdout.train.size());
  check(options.batch_size <= train_images, "--batch-size {} is more than the {} training images{}", options.batch_size,
        train_images, options.val_fraction > 0 ? " that are not held out" : "");
  setup.steps_per_epoch = data::steps_per_epoch(train_images, options.batch_size);
  setup.trainer = trainer_options(options, setup);
  setup.schedule = {.name = options.schedule,
                    .learning_rate = scaled_rate(options),
                    .total_steps = options.epochs * setup.steps_per_epoch,
                    .warmup_steps = options.warmup_steps};
  if (options.warmup_epochs > 0)
    setup.schedule.warmup_steps = std::llround(options.warmup_epochs * static_cast<double>(setup.steps_per_epoch));
  return setup;
}

}  // namespace lockring::app
