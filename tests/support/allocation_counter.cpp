#include "tests/support/allocation_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace lockring {
namespace {

constinit std::atomic<std::int64_t> count_of_all{0};
constinit thread_local std::int64_t count_of_thread = 0;

void* counted_allocate(std::size_t bytes, std::size_t alignment) {
  count_of_all.fetch_add(1, std::memory_order_relaxed);
  ++count_of_thread;
  const std::size_t padded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, padded == 0 ? alignment : padded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

std::int64_t AllocationCounter::total() const {
  return scope_ == Scope::this_thread ? count_of_thread : count_of_all.load(std::memory_order_relaxed);
}

}  // namespace lockring

// The forms for arrays and nothrow call these.
void* operator new(std::size_t bytes) { return lockring::counted_allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return lockring::counted_allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

// Under a sanitizer, too, asking for too much is a failure to handle and no reason to stop. Unused without one.
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
