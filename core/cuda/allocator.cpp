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

// Free blocks of one GPU.
struct Pool {
  std::array<std::vector<void*>, kSizeClasses> blocks;
  std::int64_t in_use = 0;  // taken from here and not given back
  bool of_recording = false;

  void* pop(int size_class) {
    std::vector<void*>& list = blocks[static_cast<std::size_t>(size_class)];
    if (list.empty()) return nullptr;
    void* block = list.back();
    list.pop_back();
    return block;
  }
  void push(int size_class, void* block) { blocks[static_cast<std::size_t>(size_class)].push_back(block); }
  // All of it.
  void give(Pool& to) {
    for (int i = 0; i < kSizeClasses; ++i)
      while (void* block = pop(i)) to.push(i, block);
  }
};

namespace {

constexpr std::int64_t kUnit = 512;

int class_of(std::int64_t bytes) { return size_class_of((bytes + kUnit - 1) / kUnit); }
std::int64_t bytes_of(int size_class) { return kUnit * units_of(size_class); }

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
    pool->give(shared().pools[static_cast<std::size_t>(gpu)]);
  }
};

ThreadPools& thread_pools() {
  thread_local ThreadPools pools;
  return pools;
}

std::unique_ptr<Pool>& thread_pool_slot(int gpu) {
  std::unique_ptr<Pool>& pool = thread_pools().pools[static_cast<std::size_t>(gpu)];
  if (pool == nullptr) pool = std::make_unique<Pool>();
  return pool;
}

Pool& thread_pool(int gpu) { return *thread_pool_slot(gpu); }

// Memory may be asked for while the thread's stream is captured.
class Uncaptured {
 public:
  Uncaptured() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~Uncaptured() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  Uncaptured(const Uncaptured&) = delete;
  Uncaptured& operator=(const Uncaptured&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

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
  const Uncaptured uncaptured;
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
  Pool& pool = thread_pool(gpu);
  ++pool.in_use;
  if (void* block = pool.pop(size_class)) return block;
  if (void* block = take_shared(gpu, size_class)) return block;
  return take_from_gpu(gpu, size_class, bytes);
}

// What another thread took goes to all: one that frees more than it takes, since it unloads models for one, would
// gather what nobody uses again. Waiting is for such, not for steps.
void deallocate(void* block, std::int64_t bytes) noexcept {
  const int gpu = current_gpu();
  if (!thread_pools_gone) {
    Pool& pool = thread_pool(gpu);
    if (pool.in_use > 0 || pool.of_recording) {
      --pool.in_use;
      return pool.push(class_of(bytes), block);
    }
    if (cudaStreamSynchronize(current_stream()) != cudaSuccess) return;  // the GPU has failed, and its memory with it
  }
  const std::lock_guard lock(shared().mutex);
  shared().pools[static_cast<std::size_t>(gpu)].push(class_of(bytes), block);
}

OwnBlocks::OwnBlocks() : pool_(std::make_unique<Pool>()) {
  pool_->of_recording = true;
  thread_pool(current_gpu()).give(*pool_);
}
OwnBlocks::~OwnBlocks() {
  if (!thread_pools_gone) pool_->give(thread_pool(current_gpu()));
}
bool OwnBlocks::given_back() const { return pool_->in_use == 0; }

OwnBlocks::Scope::Scope(OwnBlocks& blocks) : blocks_(blocks) { thread_pool_slot(current_gpu()).swap(blocks_.pool_); }
OwnBlocks::Scope::~Scope() { thread_pool_slot(current_gpu()).swap(blocks_.pool_); }

std::int64_t held_bytes() { return shared().held[static_cast<std::size_t>(current_gpu())]; }

}  // namespace lockring::cuda
