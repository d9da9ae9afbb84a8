// A reusable meeting point for the threads of one step, of one process or of several that share its memory.
//
// Waits spin briefly, then sleep, so that more threads than cores still make progress. A thread that fails calls
// abort(): all who wait or come later get false and leave.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lockring {

class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  // True once all threads have arrived; everything they wrote before is then visible. False after abort().
  [[nodiscard]] bool wait();
  // The same, but aborts if not all have arrived in time.
  [[nodiscard]] bool wait_for(std::chrono::nanoseconds timeout);
  // Releases everyone for good. May be called from any thread, more than once.
  void abort();
  bool aborted() const { return end_.load(std::memory_order_acquire) != 0; }
  // Whether it was a wait_for that gave up.
  bool late() const { return end_.load(std::memory_order_acquire) == kLate; }

 private:
  static constexpr std::uint32_t kAborted = 1, kLate = 2;

  void next_round();
  void end(std::uint32_t why);

  const std::uint32_t threads_;
  std::atomic<std::uint32_t> arrived_{0};
  std::atomic<std::uint32_t> round_{0};
  std::atomic<std::uint32_t> end_{0};  // the first reason for it
  std::atomic<std::uint32_t> sleepers_{0};
};

}  // namespace lockring
