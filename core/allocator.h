// The CPU allocator: freed blocks are kept, by size class, for the thread that freed them.
//
// After warm-up a training step allocates from here without a system call or a page fault. Blocks are aligned to 64
// bytes; those of 2 MiB and more lie on huge pages where the system has them. A thread keeps a bounded number of
// blocks of a class and passes the rest on, so memory freed on one thread serves another.
// All functions may be called from any thread. Under the address sanitizer nothing is kept.
#pragma once

#include <cstdint>

namespace lockring {

// Throws Error{device} when the system has no memory left.
void* allocate(std::int64_t bytes);
// `bytes` as passed to allocate.
void deallocate(void* block, std::int64_t bytes) noexcept;

struct AllocatorStats {
  std::int64_t system_allocations = 0;  // blocks ever asked of the system
  std::int64_t system_bytes = 0;        // bytes held now, in use or kept
};
AllocatorStats allocator_stats();

}  // namespace lockring
