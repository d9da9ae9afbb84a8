#include "core/allocator.h"

#include "core/error.h"
#include "core/size_class.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>

namespace lockring {
namespace {

constexpr std::int64_t kSmallest = 64;
constexpr std::int64_t kHuge = std::int64_t{2} << 20;
constexpr int kKeptPerClass = 64;

#ifdef __SANITIZE_ADDRESS__
constexpr bool kKeepBlocks = false;
#else
constexpr bool kKeepBlocks = true;
#endif

std::atomic<std::int64_t> system_allocations{0};
std::atomic<std::int64_t> system_bytes{0};

int class_of(std::int64_t bytes) { return size_class_of((bytes + kSmallest - 1) / kSmallest); }
constexpr std::int64_t bytes_of(int size_class) { return kSmallest * units_of(size_class); }

struct FreeBlock {
  FreeBlock* next;
};

struct FreeList {
  FreeBlock* head = nullptr;
  int count = 0;

  void push(void* block) {
    head = new (block) FreeBlock{head};
    ++count;
  }
  void* pop() {
    FreeBlock* block = head;
    if (block != nullptr) {
      head = block->next;
      --count;
    }
    return block;
  }
};

// Blocks that no thread keeps for itself. Never destroyed: threads may end after static destructors have begun.
struct SharedPool {
  std::mutex mutex;
  std::array<FreeList, kSizeClasses> lists;
};
SharedPool& shared_pool() {
  static auto* pool = new SharedPool;
  return *pool;
}

// Set when the thread's pool is destroyed: what other destructors free after that goes to the shared pool.
constinit thread_local bool thread_pool_gone = false;

struct ThreadPool {
  std::array<FreeList, kSizeClasses> lists;

  ~ThreadPool() {
    thread_pool_gone = true;
    SharedPool& shared = shared_pool();
    const std::lock_guard lock(shared.mutex);
    for (int i = 0; i < kSizeClasses; ++i)
      while (void* block = lists[i].pop()) shared.lists[i].push(block);
  }
};
thread_local ThreadPool thread_pool;

void* system_allocate(std::int64_t bytes) {
  const bool huge = bytes >= kHuge;
  const std::int64_t alignment = huge ? kHuge : kSmallest;
  const std::int64_t padded = (bytes + alignment - 1) / alignment * alignment;
  void* block = std::aligned_alloc(alignment, padded);
  check(block != nullptr, ErrorCode::device, "out of memory: {} bytes were asked for", bytes);
  if (huge) madvise(block, padded, MADV_HUGEPAGE);
  system_allocations.fetch_add(1, std::memory_order_relaxed);
  system_bytes.fetch_add(bytes, std::memory_order_relaxed);
  return block;
}

void* take_shared(int size_class) {
  SharedPool& shared = shared_pool();
  const std::lock_guard lock(shared.mutex);
  return shared.lists[size_class].pop();
}

}  // namespace

void* allocate(std::int64_t bytes) {
  check(bytes <= bytes_of(kSizeClasses - 1), ErrorCode::device, "out of memory: {} bytes were asked for", bytes);
  const int size_class = class_of(bytes);
  if (!thread_pool_gone)
    if (void* block = thread_pool.lists[size_class].pop()) return block;
  if (void* block = take_shared(size_class)) return block;
  return system_allocate(bytes_of(size_class));
}

void deallocate(void* block, std::int64_t bytes) noexcept {
  if (block == nullptr) return;
  const int size_class = class_of(bytes);
  if (!kKeepBlocks) {
    system_bytes.fetch_sub(bytes_of(size_class), std::memory_order_relaxed);
    std::free(block);
    return;
  }
  if (!thread_pool_gone) {
    FreeList& list = thread_pool.lists[size_class];
    if (list.count < kKeptPerClass) return list.push(block);
  }
  SharedPool& shared = shared_pool();
  const std::lock_guard lock(shared.mutex);
  shared.lists[size_class].push(block);
}

AllocatorStats allocator_stats() {
  return {system_allocations.load(std::memory_order_relaxed), system_bytes.load(std::memory_order_relaxed)};
}

}  // namespace lockring
