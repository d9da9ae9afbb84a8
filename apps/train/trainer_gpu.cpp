// The trainer's part with replicas on GPUs.
#include "apps/train/micro_batches.h"
#include "apps/train/trainer.h"
#include "core/device_memory.h"
#include "core/error.h"
#include "nn/gradient_norm.h"
#include "ops/gradient_sums_kernel.h"

#include <algorithm>
#include <numeric>

namespace lockring::app {
namespace {

// Zeros in memory of the CPU that GPUs copy from and to by themselves.
Tensor pinned_zeros(std::int64_t elements) {
  const Tensor zeros = Tensor::view_of(device_memory::allocate_pinned(elements * 4), 0, {elements});
  device_memory::clear(zeros.raw(), zeros.bytes(), zeros.device());
  return zeros;
}

}  // namespace

void Trainer::check_devices() const {
  const auto kind = [](Device device) { return device.kind; };
  check(!options_.devices.empty() &&
            std::ranges::count(options_.devices, options_.devices[0].kind, kind) == std::ssize(options_.devices),
        "the replicas of a process are all on its CPU or all on GPUs");
  check(options_.precision == DType::f32 || (options_.precision == DType::bf16 && on_gpu()),
        "replicas on {} do not compute with {}", to_string(options_.devices[0]), name_of(options_.precision));
  check(options_.gpu_micro_batch >= 0, "--micro-batch {} is not possible", options_.gpu_micro_batch);
  check(!options_.nccl || on_gpu(), "--allreduce nccl adds up between GPUs; these replicas compute on the CPU");
  check(!options_.nccl || options_.shards == group_.job_size(),
        "--allreduce nccl adds up one shard a replica: {} shards do not fit {} replicas", options_.shards,
        group_.job_size());
  check(!on_gpu() || options_.served.servers == 0, "with parameter servers replicas compute on the CPU, not on {}",
        to_string(options_.devices[0]));
}

// Each on the thread that will use it.
void Trainer::make_gpu_models() {
  const auto replicas = static_cast<std::size_t>(options_.replicas);
  models_.resize(replicas);
  optimizers_.resize(replicas);
  lanes_.resize(replicas);
  gpu_gradients_.resize(replicas);
  gpu_exchanges_.resize(replicas);
  resident_.resize(replicas);
  std::vector<Device> devices;
  for (int replica = 0; replica < options_.replicas; ++replica) devices.push_back(device_of(replica));
  device_memory::select(device());  // this thread, too, leaves other ranks' GPUs alone
  std::vector<std::unique_ptr<dist::DeviceCommunicator>> gpus;
  if (options_.nccl) gpus = dist::open_nccl(world_, devices);
  group_.team().run([&](int replica) {
    const Device device = device_of(replica);
    models_[replica] = std::make_unique<nn::Model>(options_.build(), options_.seed, nn::memory_on(device));
    optimizers_[replica] = nn::make_optimizer(options_.optimizer, models_[replica]->parameters());
    lanes_[replica] = std::make_unique<GpuLane>(device);
    if (options_.resident_data && ResidentData::suits(train_, transform_, device))
      resident_[replica].emplace(train_, transform_, device);
    if (!gathers_from_gpus() && !options_.nccl) return;
    gpu_gradients_[replica] = nn::Arena(models_[replica]->parameters().shared_layout());
    if (options_.nccl)
      gpu_exchanges_[replica] =
          std::make_unique<GpuExchange>(std::move(gpus[replica]), gpu_gradients_[replica], options_.bucket_bytes);
  });
  if (options_.nccl) {
    gradients_ = {gpu_gradients_[0]};
    gradient_starts_ = {sums()};
    return;
  }
  if (sums_on_gpu()) {
    make_gradients(model().parameters().shared_layout());
    // What normalises over the whole batch meets on the CPU.
    if (!options_.sync_batch_norm)
      gpu_steps_.emplace(GpuStepsOptions{.seed = options_.seed,
                                         .precision = options_.precision,
                                         .label_smoothing = options_.label_smoothing,
                                         .clip_norm = options_.clip_norm,
                                         .record = options_.graphs},
                         model(), optimizer(), gradients_, *lanes_[0], resident_[0] ? &*resident_[0] : nullptr);
    return;
  }
  const nn::ArenaMemory shared = shared_memory();
  const std::unique_ptr<nn::Module> module = options_.build();
  make_gradients(std::make_shared<const nn::ArenaLayout>(*module, shared ? shared : pinned_zeros));
}

const nn::Arena& Trainer::gradients_to_compute(int replica, std::int64_t shard) {
  return gpu_gradients_[replica].defined() ? gpu_gradients_[replica] : shard_gradients(shard);
}

// Those who may wait for this replica on their GPUs learn that it cannot go on.
void Trainer::run_step_on_gpus(int replica) {
  if (!options_.nccl) return run_step(replica);
  gpu_exchanges_[replica]->begin(familiar_);
  try {
    run_step(replica);
  } catch (const std::exception& error) {
    gpu_exchanges_[replica]->abandon(error.what());
    throw;
  }
}

// Asking a driver for memory can wait for all GPUs of the process: while a replica may still do that, no GPU is to wait
// for another's part of a sum.
void Trainer::add_up_by_nccl(int replica) {
  if (!familiar_) meet_all(replica);
  gpu_exchanges_[replica]->finish();
  if (!familiar_) meet_all(replica);
}

// The replicas of all ranks, which may be threads of one process.
void Trainer::meet_all(int replica) {
  meet(replica);
  if (world_.size() == 1) return;
  if (replica == 0) world_.all().barrier();
  meet(replica);
}

void Trainer::add_up_on_gpu(int replica) {
  if (options_.nccl) return add_up_by_nccl(replica);
  if (gradients_.size() > 1)
    kTreeSum.on(device())(gradient_starts_.data(), static_cast<int>(gradients_.size()), 0, model().layout().elements(),
                          sums());
}

data::Batch Trainer::send_to_gpu(int replica, data::Range range) {
  if (!resident_[replica]) return lanes_[replica]->send(read(range));
  const auto samples =
      input_.batch.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size()));
  const ResidentData& resident = *resident_[replica];
  return resident.prepare(resident.send_draws(*lanes_[replica], samples, options_.seed, input_.epoch));
}

// The one place of a step where the CPU waits for its GPU, and finds what has come back.
void Trainer::gather_from_gpu(int replica) {
  GpuLane& lane = *lanes_[replica];
  std::span<const double> squares;
  if (sums_on_gpu()) {
    add_up_on_gpu(replica);
    const std::int64_t parts = nn::square_sum_parts(model().layout());
    Tensor sums_of_squares = Tensor::empty({parts}, DType::i64, device_of(replica));  // room for as many doubles
    auto* first = static_cast<double*>(sums_of_squares.raw());
    nn::square_sums_on_gpu(options_.nccl ? gpu_gradients_[replica] : gradients_[0], first);
    squares = lane.bring_back(first, parts);
  }
  if (options_.nccl) {
    note(replica, dist::Phase::exchange);
    gpu_exchanges_[replica]->wait();
  }
  lane.wait();
  for (const GpuLane::Reading& reading : lane.readings())
    add_loss(tails_[reading.shard], reading.range, *reading.loss, *reading.correct);
  // Every GPU has the same sum; one of the machine's replicas tells.
  if (sums_on_gpu() && group_.first() + replica == 0)
    square_blocks_[0] = std::accumulate(squares.begin(), squares.end(), 0.0);
}

// With NCCL between machines: the numbers beside the gradient, which lie in memory that a machine shares.
void Trainer::share_tails(int replica) {
  if (world_.nodes() == 1) return;
  if (replica == 0 && world_.node().rank() == 0) {
    clear_foreign_tails();
    world_.across().all_reduce(tail_numbers());
  }
  meet(replica);
}

void Trainer::start_on_gpu() {
  note(0, dist::Phase::gradient);
  std::vector<GpuSteps::Part> parts;
  for (std::int64_t shard = 0; shard < options_.shards; ++shard) {
    const data::Range range = data::shard_range(std::ssize(input_.batch), options_.shards, shard);
    if (range.size() == 0) parts.push_back({shard, range});
    for_each_micro_batch(range, options_.gpu_micro_batch, [&](data::Range part) { parts.push_back({shard, part}); });
  }
  StepResult known;
  if (options_.stop_request) known.stop_request = options_.stop_request();
  known.data_seconds =
      gpu_steps_->start(input_, std::move(parts), [this](data::Range range) { return loader_->read(range); });
  started_.push_back(known);
}

// What the step has found, as if it had run here.
StepResult Trainer::finish_on_gpu() {
  const GpuSteps::Result found = gpu_steps_->finish();
  input_ = *found.input;
  std::ranges::fill(tails_, Tail{.data_seconds = 0});
  tails_[0].data_seconds = started_.front().data_seconds;
  tails_[0].stop_request = started_.front().stop_request;
  started_.erase(started_.begin());
  for (std::size_t i = 0; i < found.parts.size(); ++i) {
    const auto [shard, range] = found.parts[i];
    if (range.size() > 0) add_loss(tails_[shard], range, found.losses[i], found.correct[i]);
  }
  square_blocks_[0] = found.squares;
  result_ = totals();
  if (!diverged(result_)) return result_;
  started_.clear();
  gpu_steps_->compute_again(found, [this](data::Range range) { return read_again(range); });
  report_divergence();
}

// Every replica takes over what the first one has.
void Trainer::share_parameters() {
  std::vector<Tensor> first;
  for (const Tensor& buffer : buffers_of(0)) first.push_back(buffer.to(Device{}));
  group_.team().run([&](int replica) {
    if (replica == 0) return;
    std::vector<Tensor> own = buffers_of(replica);
    for (std::size_t i = 0; i < own.size(); ++i) own[i].copy_from(first[i]);
  });
}

}  // namespace lockring::app
