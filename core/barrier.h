// A reusable meeting point for the threads of one step.
//
// Waits spin briefly, then sleep, so that more threads than cores still make progress. A thread that fails calls
// abort(): all who wait or come later get false and leave.
#pragma once

#include <atomic>
#include <cstdint>

namespace lockring {

class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  // True once all threads have arrived; everything they wrote before is then visible. False after abort().
  [[nodiscard]] bool wait();
  // Releases everyone for good. May be called from any thread, more than once.
  void abort();
  bool aborted() const { return aborted_.load(std::memory_order_acquire); }

 private:
  const int threads_;
  std::atomic<int> arrived_{0};
  std::atomic<std::uint32_t> round_{0};
  std::atomic<bool> aborted_{false};
};

}  // namespace lockring
