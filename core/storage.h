// A reference-counted block of memory on one device. Tensors share it; the last one frees it.
#pragma once

#include "core/device.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace lockring {

class Storage {
 public:
  Storage() = default;
  // Uninitialised memory from the allocator of `device`.
  static Storage allocate(std::int64_t bytes, Device device = {});
  // Memory of somebody else (a mapped file, say), kept alive by `owner`.
  static Storage wrap(void* data, std::int64_t bytes, std::shared_ptr<void> owner);

  Storage(const Storage& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Storage(Storage&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Storage& operator=(Storage other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Storage() {
    if (block_ != nullptr && block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) release(block_);
  }

  explicit operator bool() const { return block_ != nullptr; }
  void* data() const { return block_->data; }
  std::int64_t bytes() const { return block_->bytes; }
  Device device() const { return block_->device; }
  // True if no other Storage shares the memory.
  bool unique() const { return block_->references.load(std::memory_order_acquire) == 1; }
  bool operator==(const Storage& other) const { return block_ == other.block_; }

 private:
  // Lies in front of the memory it describes, where that is ours.
  struct alignas(64) Block {
    std::atomic<std::int32_t> references{1};
    Device device;
    void* data = nullptr;
    std::int64_t bytes = 0;
    std::int64_t allocated = 0;
    std::shared_ptr<void> owner;
  };

  explicit Storage(Block* block) : block_(block) {}
  static Storage allocate_on_gpu(std::int64_t bytes, Device device);
  static void release(Block* block) noexcept;

  Block* block_ = nullptr;
};

}  // namespace lockring
