// The trainer's part with replicas on GPUs.
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
  check(options_.gpu_micro_batch >= 0, "--micro-batch {} is not possible", options_.gpu_micro_batch);
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
  group_.team().run([this](int replica) {
    const Device device = device_of(replica);
    models_[replica] = std::make_unique<nn::Model>(options_.build(), options_.seed, nn::memory_on(device));
    optimizers_[replica] = nn::make_optimizer(options_.optimizer, models_[replica]->parameters());
    lanes_[replica] = std::make_unique<GpuLane>(device);
    if (gathers_from_gpus()) gpu_gradients_[replica] = nn::Arena(models_[replica]->parameters().shared_layout());
  });
  if (sums_on_gpu()) return make_gradients(model().parameters().shared_layout());
  const nn::ArenaMemory shared = shared_memory();
  const std::unique_ptr<nn::Module> module = options_.build();
  make_gradients(std::make_shared<const nn::ArenaLayout>(*module, shared ? shared : pinned_zeros));
}

const nn::Arena& Trainer::gradients_to_compute(int replica, std::int64_t shard) {
  return gathers_from_gpus() ? gpu_gradients_[replica] : shard_gradients(shard);
}

// The one place of a step where the CPU waits for its GPU, and finds what has come back.
void Trainer::gather_from_gpu(int replica) {
  GpuLane& lane = *lanes_[replica];
  std::span<const double> squares;
  if (sums_on_gpu()) {
    const std::int64_t elements = model().layout().elements();
    if (gradients_.size() > 1)
      kTreeSum.on(device())(gradient_starts_.data(), static_cast<int>(gradients_.size()), 0, elements, sums());
    const std::int64_t parts = nn::square_sum_parts(model().layout());
    Tensor sums_of_squares = Tensor::empty({parts}, DType::i64, device());  // room for as many doubles
    auto* first = static_cast<double*>(sums_of_squares.raw());
    nn::square_sums_on_gpu(gradients_[0], first);
    squares = lane.bring_back(first, parts);
  }
  lane.wait();
  for (const GpuLane::Reading& reading : lane.readings())
    add_loss(tails_[reading.shard], reading.range, *reading.loss, *reading.correct);
  if (sums_on_gpu()) square_blocks_[0] = std::accumulate(squares.begin(), squares.end(), 0.0);
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
