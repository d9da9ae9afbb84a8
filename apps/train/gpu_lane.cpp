#include "apps/train/gpu_lane.h"

#include "core/device_memory.h"

#include <algorithm>
#include <cstring>

namespace lockring::app {

void GpuLane::begin_step() {
  ++step_;
  half().used = 0;
  next_sent_ = 0;
  readings_.clear();
}

// A step that needs more than there is gets a larger block, which the next steps find. Smaller ones stay: giving them
// back would wait for the GPUs. The other half gets one too, so that a step of a known size asks for nothing.
void* GpuLane::take_pinned(std::int64_t bytes) {
  constexpr std::int64_t kAlignment = 256;
  constexpr std::int64_t kLeast = 64 << 10;
  const std::int64_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  auto& [pinned, used] = half();
  const std::int64_t there = pinned.empty() ? 0 : pinned.back().bytes();
  if (used + whole > there) {
    for (Half& each : halves_) {
      each.pinned.push_back(device_memory::allocate_pinned(std::max({2 * there, whole, kLeast})));
      each.used = 0;
    }
  }
  void* memory = static_cast<char*>(pinned.back().data()) + used;
  used += whole;
  return memory;
}

Tensor GpuLane::send(const Tensor& tensor) {
  if (!tensor.defined()) return {};
  if (next_sent_ == sent_.size()) sent_.emplace_back();
  Storage& place = sent_[next_sent_++];
  if (!place || place.bytes() < tensor.bytes()) {
    place = Storage::allocate(tensor.bytes(), device_);
    ++version_;
  }
  const Tensor there = Tensor::view_of(place, 0, tensor.shape(), tensor.dtype());
  if (tensor.bytes() == 0) return there;
  void* pinned = take_pinned(tensor.bytes());
  std::memcpy(pinned, tensor.raw(), static_cast<std::size_t>(tensor.bytes()));
  device_memory::copy_async(there.raw(), device_, pinned, Device{}, tensor.bytes());
  return there;
}

data::Batch GpuLane::send(const data::Batch& batch) {
  return {.images = send(batch.images),
          .labels = send(batch.labels),
          .partner_labels = send(batch.partner_labels),
          .weights = send(batch.weights)};
}

const void* GpuLane::receive(const void* on_gpu, std::int64_t bytes) {
  void* pinned = take_pinned(bytes);
  device_memory::copy_async(pinned, Device{}, on_gpu, device_, bytes);
  return pinned;
}

void GpuLane::bring_back(std::int64_t shard, data::Range range, const Tensor& loss, const Tensor& correct) {
  readings_.push_back({shard, range, static_cast<const float*>(receive(loss.raw(), loss.bytes())),
                       static_cast<const std::int64_t*>(receive(correct.raw(), correct.bytes()))});
}

std::span<const double> GpuLane::bring_back(const double* values, std::int64_t count) {
  const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(double));
  return {static_cast<const double*>(receive(values, bytes)), static_cast<std::size_t>(count)};
}

void GpuLane::wait() const { device_memory::synchronize(device_); }

}  // namespace lockring::app
