#include "core/device_memory.h"

#include "core/cuda/allocator.h"
#include "core/cuda/check.h"
#include "core/cuda/elementwise.h"
#include "core/cuda/stream.h"
#include "core/error.h"

#include <cstring>
#include <memory>

namespace lockring::device_memory {
namespace {

bool on_cpu(Device device) { return device.kind == DeviceKind::cpu; }

cudaMemcpyKind direction(Device to, Device from) {
  if (on_cpu(from)) return on_cpu(to) ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
  return on_cpu(to) ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

}  // namespace

void select(Device device) {
  if (!on_cpu(device)) cuda::select_gpu(device.index);
}

void* allocate(std::int64_t bytes, Device device) {
  select(device);
  return cuda::allocate(bytes);
}

void release(void* block, std::int64_t bytes, Device device) noexcept {
  try {
    select(device);
  } catch (const Error&) {
    return;  // the GPU has failed, and its memory with it
  }
  cuda::deallocate(block, bytes);
}

void copy_async(void* to, Device to_device, const void* from, Device from_device, std::int64_t bytes) {
  select(on_cpu(to_device) ? from_device : to_device);
  LOCKRING_CHECK_CUDA(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), direction(to_device, from_device),
                                      cuda::current_stream()));
}

void copy(void* to, Device to_device, const void* from, Device from_device, std::int64_t bytes) {
  // What another GPU computes is in that one's stream, and so is what will use the memory next.
  if (!on_cpu(to_device) && to_device != from_device) synchronize(from_device);
  copy_async(to, to_device, from, from_device, bytes);
  if (to_device != from_device) LOCKRING_CHECK_CUDA(cudaStreamSynchronize(cuda::current_stream()));
}

void clear(void* block, std::int64_t bytes, Device device) {
  if (on_cpu(device)) {
    std::memset(block, 0, static_cast<std::size_t>(bytes));
    return;
  }
  select(device);
  if (bytes > 0)
    LOCKRING_CHECK_CUDA(cudaMemsetAsync(block, 0, static_cast<std::size_t>(bytes), cuda::current_stream()));
}

void fill(float* block, std::int64_t count, float value, Device device) {
  select(device);
  cuda::fill(block, count, value);
}

void add(Reals sum, ConstReals term, std::int64_t count, Device device) {
  select(device);
  cuda::add(sum, term, count);
}

void synchronize(Device device) {
  if (on_cpu(device)) return;
  select(device);
  LOCKRING_CHECK_CUDA(cudaStreamSynchronize(cuda::current_stream()));
}

Storage allocate_pinned(std::int64_t bytes) {
  void* block = nullptr;
  const auto size = static_cast<std::size_t>(bytes > 0 ? bytes : 1);
  LOCKRING_CHECK_CUDA(cudaHostAlloc(&block, size, cudaHostAllocPortable));
  return Storage::wrap(block, bytes, std::shared_ptr<void>(block, [](void* memory) { cudaFreeHost(memory); }));
}

}  // namespace lockring::device_memory
