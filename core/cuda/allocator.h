// The allocator of a GPU's memory: freed blocks are kept, by size class, for the thread that took them; those that
// another thread frees, for all.
//
// It is ordered by streams without waiting for them: a thread's blocks go to the thread's next work on the same stream,
// which runs after the work that used them before. When a thread ends its stream is synchronised and its blocks go to
// all. After warm-up a training step calls nothing of CUDA here.
#pragma once

#include <cstdint>
#include <memory>

namespace lockring::cuda {

// On the current GPU, aligned to 256 bytes at least. Throws Error{device} when the memory is full, even after what was
// kept has been given back.
void* allocate(std::int64_t bytes);
// `bytes` as passed to allocate, the block of the current GPU, and what uses it asked of the current stream, which is
// waited for if the thread has freed all that it took itself.
void deallocate(void* block, std::int64_t bytes) noexcept;

// Memory for the length of a function, which may return before what it asked of the GPU has run.
class Scratch {
 public:
  explicit Scratch(std::int64_t bytes = 0) : block_(bytes > 0 ? allocate(bytes) : nullptr), bytes_(bytes) {}
  ~Scratch() {
    if (block_ != nullptr) deallocate(block_, bytes_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  template <class T = void>
  T* data() const {
    return static_cast<T*>(block_);
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  void* block_;
  std::int64_t bytes_;
};

// Blocks of the current GPU that belong to work which will be launched again (core/device_graph.h): nothing else of the
// thread gets them before this has gone, which happens on the thread and device that made it. It begins with all that
// the thread keeps.
class OwnBlocks {
 public:
  OwnBlocks();
  ~OwnBlocks();
  OwnBlocks(const OwnBlocks&) = delete;
  OwnBlocks& operator=(const OwnBlocks&) = delete;

  // While it lives, the thread takes blocks from here and gives them back here.
  class Scope {
   public:
    explicit Scope(OwnBlocks& blocks);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    OwnBlocks& blocks_;
  };
  // Whether what was taken in scopes is back.
  bool given_back() const;

 private:
  std::unique_ptr<struct Pool> pool_;
};

// Bytes that all threads hold on the current GPU, in use or kept.
std::int64_t held_bytes();

}  // namespace lockring::cuda
