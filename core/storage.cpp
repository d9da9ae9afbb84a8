#include "core/storage.h"

#include "core/allocator.h"
#include "core/device_memory.h"
#include "core/error.h"

#include <new>

namespace lockring {

Storage Storage::allocate(std::int64_t bytes, Device device) {
  if (device.kind != DeviceKind::cpu) return allocate_on_gpu(bytes, device);
  const std::int64_t allocated = bytes + static_cast<std::int64_t>(sizeof(Block));
  void* memory = lockring::allocate(allocated);
  auto* block = new (memory) Block;
  block->device = device;
  block->data = block + 1;
  block->bytes = bytes;
  block->allocated = allocated;
  return Storage(block);
}

Storage Storage::allocate_on_gpu(std::int64_t bytes, Device device) {
  void* data = device_memory::allocate(bytes, device);
  auto* block = new (lockring::allocate(sizeof(Block))) Block;
  block->device = device;
  block->data = data;
  block->bytes = bytes;
  block->allocated = sizeof(Block);
  return Storage(block);
}

Storage Storage::wrap(void* data, std::int64_t bytes, std::shared_ptr<void> owner) {
  auto* block = new (lockring::allocate(sizeof(Block))) Block;
  block->data = data;
  block->bytes = bytes;
  block->allocated = sizeof(Block);
  block->owner = std::move(owner);
  return Storage(block);
}

void Storage::release(Block* block) noexcept {
  if (block->device.kind != DeviceKind::cpu) device_memory::release(block->data, block->bytes, block->device);
  const std::int64_t allocated = block->allocated;
  block->~Block();
  deallocate(block, allocated);
}

}  // namespace lockring
