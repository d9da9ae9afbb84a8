// Counts calls of operator new, which every test program replaces.
//
//   AllocationCounter counter;
//   ...
//   EXPECT_EQ(counter.count(), 0);
#pragma once

#include <cstdint>

namespace lockring {

class AllocationCounter {
 public:
  enum class Scope { this_thread, all_threads };

  explicit AllocationCounter(Scope scope = Scope::this_thread) : scope_(scope), start_(total()) {}
  // Allocations since construction.
  std::int64_t count() const { return total() - start_; }

 private:
  std::int64_t total() const;

  Scope scope_;
  std::int64_t start_;
};

}  // namespace lockring
