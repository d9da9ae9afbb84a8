#include "core/cuda/allocator.h"

#include "core/cuda/check.h"
#include "core/cuda/stream.h"
#include "core/error.h"
#include "core/size_class.h"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace lockring::cuda {
namespace {

constexpr std::int64_t kUnit = 512;

int class_of(std::int64_t bytes) { return size_class_of((bytes + kUnit - 1) / kUnit); }
std::int64_t bytes_of(int size_class) { return kUnit * units_of(size_class); }

// Free blocks of one GPU.
struct Pool {
  std::array<std::vector<void*>, kSizeClasses> blocks;

  void* pop(int size_class) {
    std::vector<void*>& list = blocks[static_cast<std::size_t>(size_class)];
    if (list.empty()) return nullptr;
    void* block = list.back();
    list.pop_back();
    return block;
  }
  void push(int size_class, void* block) { blocks[static_cast<std::size_t>(size_class)].push_back(block); }
};

// What no thread keeps for itself. Never destroyed: threads may end after static destructors have begun.
struct Shared {
  std::mutex mutex;
  std::array<Pool, kMostGpus> pools;
  std::array<std::atomic<std::int64_t>, kMostGpus> held{};
};
Shared& shared() {
  static auto* value = new Shared;
  return *value;
}

constinit thread_local bool thread_pools_gone = false;

struct ThreadPools {
  std::array<std::unique_ptr<Pool>, kMostGpus> pools;

  ThreadPools() { current_stream(); }  // is made before and so ends after these
  ~ThreadPools() {
    thread_pools_gone = true;
    for (int gpu = 0; gpu < kMostGpus; ++gpu) give_to_all(gpu);
  }

  // Only after the thread's work on the GPU is done.
  void give_to_all(int gpu) {
    const std::unique_ptr<Pool>& pool = pools[static_cast<std::size_t>(gpu)];
    if (pool == nullptr || cudaSetDevice(gpu) != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) return;
    const std::lock_guard lock(shared().mutex);
    for (int i = 0; i < kSizeClasses; ++i)
      while (void* block = pool->pop(i)) shared().pools[static_cast<std::size_t>(gpu)].push(i, block);
  }
};

ThreadPools& thread_pools() {
  thread_local ThreadPools pools;
  return pools;
}

Pool& thread_pool(int gpu) {
  std::unique_ptr<Pool>& pool = thread_pools().pools[static_cast<std::size_t>(gpu)];
  if (pool == nullptr) pool = std::make_unique<Pool>();
  return *pool;
}

void* take_shared(int gpu, int size_class) {
  const std::lock_guard lock(shared().mutex);
  return shared().pools[static_cast<std::size_t>(gpu)].pop(size_class);
}

// Gives back what this thread and nobody keeps; other threads' blocks may be in use by their streams.
void trim(int gpu) {
  LOCKRING_CHECK_CUDA(cudaStreamSynchronize(current_stream()));
  const std::lock_guard lock(shared().mutex);
  for (Pool* pool : {&thread_pool(gpu), &shared().pools[static_cast<std::size_t>(gpu)]})
    for (int i = 0; i < kSizeClasses; ++i)
      while (void* block = pool->pop(i)) {
        LOCKRING_CHECK_CUDA(cudaFree(block));
        shared().held[static_cast<std::size_t>(gpu)] -= bytes_of(i);
      }
}

[[noreturn]] void fail_full(int gpu, std::int64_t bytes) {
  std::size_t free = 0;
  std::size_t total = 0;
  LOCKRING_CHECK_CUDA(cudaMemGetInfo(&free, &total));
  fail(ErrorCode::device, "cuda:{} is out of memory: {} bytes were asked for, {} of {} are free", gpu, bytes, free,
       total);
}

void* take_from_gpu(int gpu, int size_class, std::int64_t bytes) {
  void* block = nullptr;
  const auto whole = static_cast<std::size_t>(bytes_of(size_class));
  cudaError_t status = cudaMalloc(&block, whole);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    trim(gpu);
    status = cudaMalloc(&block, whole);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      fail_full(gpu, bytes);
    }
  }
  LOCKRING_CHECK_CUDA(status);
  shared().held[static_cast<std::size_t>(gpu)] += bytes_of(size_class);
  return block;
}

}  // namespace

void* allocate(std::int64_t bytes) {
  const int gpu = current_gpu();
  if (bytes > bytes_of(kSizeClasses - 1)) fail_full(gpu, bytes);
  const int size_class = class_of(bytes);
  if (void* block = thread_pool(gpu).pop(size_class)) return block;
  if (void* block = take_shared(gpu, size_class)) return block;
  return take_from_gpu(gpu, size_class, bytes);
}

void deallocate(void* block, std::int64_t bytes) noexcept {
  const int gpu = current_gpu();
  if (!thread_pools_gone) return thread_pool(gpu).push(class_of(bytes), block);
  const std::lock_guard lock(shared().mutex);
  shared().pools[static_cast<std::size_t>(gpu)].push(class_of(bytes), block);
}

std::int64_t held_bytes() { return shared().held[static_cast<std::size_t>(current_gpu())]; }

}  // namespace lockring::cuda
