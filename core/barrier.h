// A reusable meeting point for the threads of one step, of one process or of several that share its memory.
//
// Waits spin briefly, then sleep, so that more threads than cores still make progress. A thread that fails calls
// abort(): all who wait or come later get false and leave.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace lockring {

class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  // True once all threads have arrived; everything they wrote before is then visible. False after abort().
  [[nodiscard]] bool wait();
  // The two halves of it, for those who look around while they wait: arrive() once, then await() until it answers.
  // await() gives up after `most`, without an answer.
  std::uint32_t arrive();
  std::optional<bool> await(std::uint32_t arrival, std::chrono::nanoseconds most);
  // Releases everyone for good. May be called from any thread, more than once.
  void abort() { end(kAborted); }
  // The same, because of those who do not come.
  void give_up() { end(kLate); }
  bool aborted() const { return end_.load(std::memory_order_acquire) != 0; }
  // Whether it was ended by give_up().
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
