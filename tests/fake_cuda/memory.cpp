#include "tests/fake_cuda/machine.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

namespace fake_cuda {
namespace {

constexpr std::size_t kDeviceBytes = std::size_t{4} << 30;
constexpr std::size_t kAlignment = 256;
constexpr std::size_t kFence = 256;  // behind each block
constexpr unsigned char kFenceByte = 0xCA;
constexpr unsigned char kFresh = 0xFF;  // as floats, NaN

// Not all of a large block: pages that nobody touches cost nothing when access opens and closes.
void make_fresh(unsigned char* block, std::size_t bytes) {
  std::memset(block, kFresh, std::min(bytes, std::size_t{1} << 20));
}

// The memory of one device: address space that is opened only while work runs.
class DeviceMemory {
 public:
  DeviceMemory() {
    void* space = mmap(nullptr, kDeviceBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) std::abort();
    begin_ = static_cast<unsigned char*>(space);
  }

  bool contains(const void* block) const {
    const auto* byte = static_cast<const unsigned char*>(block);
    return byte >= begin_ && byte < begin_ + kDeviceBytes;
  }

  bool holds(const void* block, std::size_t bytes) const {
    if (!contains(block)) return false;
    const std::size_t at = offset(block);
    auto next = blocks_.upper_bound(at);
    if (next == blocks_.begin()) return false;
    --next;
    return at + bytes <= next->first + next->second;
  }

  void* allocate(std::size_t bytes) {
    const std::size_t place = room(bytes);
    std::vector<std::size_t>& free = free_[place];
    std::size_t at = used_;
    if (!free.empty()) {
      at = free.back();
      free.pop_back();
    } else if (used_ + place > kDeviceBytes) {
      return nullptr;
    } else {
      used_ += place;
    }
    blocks_[at] = bytes;
    const Access access;
    make_fresh(begin_ + at, bytes);
    std::memset(begin_ + at + bytes, kFenceByte, place - bytes);
    return begin_ + at;
  }

  bool release(const void* block) {
    const auto found = blocks_.find(offset(block));
    if (found == blocks_.end()) return false;
    const Access access;
    make_fresh(begin_ + found->first, found->second);
    free_[room(found->second)].push_back(found->first);
    blocks_.erase(found);
    return true;
  }

  void protect(int mode) const {
    if (used_ > 0 && mprotect(begin_, (used_ + 4095) / 4096 * 4096, mode) != 0) std::abort();
  }

  bool fences_hold() const {
    return std::ranges::all_of(blocks_, [&](const auto& block) {
      const unsigned char* fence = begin_ + block.first + block.second;
      const std::size_t bytes = room(block.second) - block.second;
      return std::all_of(fence, fence + bytes, [](unsigned char byte) { return byte == kFenceByte; });
    });
  }

  std::size_t used() const { return used_; }

 private:
  std::size_t offset(const void* block) const {
    return static_cast<std::size_t>(static_cast<const unsigned char*>(block) - begin_);
  }
  static std::size_t room(std::size_t bytes) { return (bytes + kFence + kAlignment - 1) / kAlignment * kAlignment; }

  unsigned char* begin_;
  std::size_t used_ = 0;
  std::map<std::size_t, std::size_t> blocks_;             // where, bytes
  std::map<std::size_t, std::vector<std::size_t>> free_;  // by room
};

// Never destroyed: programs free memory while they end.
DeviceMemory& memory(int device) {
  static auto* memories = new DeviceMemory[kDevices];
  return memories[device];
}

std::map<const void*, std::size_t>& pinned_blocks() {
  static auto* blocks = new std::map<const void*, std::size_t>;
  return *blocks;
}

int open_accesses = 0;

int device_of(const void* block) {
  for (int device = 0; device < kDevices; ++device)
    if (memory(device).contains(block)) return device;
  return -1;
}

}  // namespace

bool on_device(const void* block, std::size_t bytes, int device) {
  const std::lock_guard lock(machine_lock());
  const int at = device_of(block);
  return at >= 0 && (device < 0 || at == device) && memory(at).holds(block, bytes);
}

bool in_device_range(const void* block) { return device_of(block) >= 0; }

bool is_pinned(const void* block, std::size_t bytes) {
  const std::lock_guard lock(machine_lock());
  auto next = pinned_blocks().upper_bound(block);
  if (next == pinned_blocks().begin()) return false;
  --next;
  return static_cast<const char*>(block) + bytes <= static_cast<const char*>(next->first) + next->second;
}

Access::Access() {
  machine_lock().lock();
  if (open_accesses++ == 0)
    for (int device = 0; device < kDevices; ++device) memory(device).protect(PROT_READ | PROT_WRITE);
}

Access::~Access() {
  if (--open_accesses == 0)
    for (int device = 0; device < kDevices; ++device) memory(device).protect(PROT_NONE);
  machine_lock().unlock();
}

std::string overrun() {
  const Access access;
  for (int device = 0; device < kDevices; ++device)
    if (!memory(device).fences_hold()) return "something was written beyond the end of a block";
  return "";
}

}  // namespace fake_cuda

using namespace fake_cuda;

cudaError_t cudaMalloc(void** block, std::size_t bytes) {
  const std::lock_guard lock(machine_lock());
  if (const cudaError_t error = refuse_unless_relaxed("memory was asked for"); error != cudaSuccess) return error;
  *block = nullptr;
  ++counters().allocations;
  if (bytes == 0) return cudaSuccess;
  if (const cudaError_t error = check_nobody_waits("cudaMalloc"); error != cudaSuccess) return error;
  if (bytes > kDeviceBytes) return cudaErrorMemoryAllocation;
  *block = memory(current_device()).allocate(bytes);
  return *block == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

namespace {

// As CUDA does, it waits for the work of the device.
cudaError_t check_before_freeing(const char* call) {
  {
    const std::lock_guard lock(machine_lock());
    if (const cudaError_t error = check_nobody_waits(call); error != cudaSuccess) return error;
  }
  return run_all();
}

}  // namespace

cudaError_t cudaFree(void* block) {
  if (block == nullptr) return cudaSuccess;
  if (const cudaError_t error = check_before_freeing("cudaFree"); error != cudaSuccess) return error;
  const std::lock_guard lock(machine_lock());
  const int device = device_of(block);
  if (device < 0 || !memory(device).release(block))
    return misuse(cudaErrorInvalidDevicePointer, "cudaFree of what cudaMalloc did not give");
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** block, std::size_t bytes, unsigned) {
  const std::lock_guard lock(machine_lock());
  if (const cudaError_t error = check_nobody_waits("cudaHostAlloc"); error != cudaSuccess) return error;
  if (const cudaError_t error = refuse_unless_relaxed("pinned memory was asked for"); error != cudaSuccess)
    return error;
  *block = std::malloc(bytes);
  if (*block == nullptr) return cudaErrorMemoryAllocation;
  std::memset(*block, kFresh, bytes);
  pinned_blocks()[*block] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* block) {
  if (block == nullptr) return cudaSuccess;
  if (const cudaError_t error = check_before_freeing("cudaFreeHost"); error != cudaSuccess) return error;
  const std::lock_guard lock(machine_lock());
  if (pinned_blocks().erase(block) == 0)
    return misuse(cudaErrorInvalidValue, "cudaFreeHost of what cudaHostAlloc did not give");
  std::free(block);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(machine_lock());
  *total = kDeviceBytes;
  *free = kDeviceBytes - memory(current_device()).used();
  return cudaSuccess;
}
