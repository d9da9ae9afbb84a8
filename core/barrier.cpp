#include "core/barrier.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace lockring {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSpins = 4000;  // a few tens of microseconds: replicas of one step arrive about together

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// std::atomic's own wait and notify do not reach other processes.
void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value, std::chrono::nanoseconds most) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
  const timespec time{.tv_sec = seconds.count(), .tv_nsec = (most - seconds).count()};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &time, nullptr, 0);
}

}  // namespace

bool Barrier::wait() {
  const std::uint32_t arrival = arrive();
  for (;;)
    if (const std::optional<bool> met = await(arrival, std::chrono::hours(24))) return *met;
}

std::uint32_t Barrier::arrive() {
  const std::uint32_t round = round_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    arrived_.store(0, std::memory_order_relaxed);
    next_round();
  }
  return round;
}

std::optional<bool> Barrier::await(std::uint32_t arrival, std::chrono::nanoseconds most) {
  const auto waits = [&] { return round_.load(std::memory_order_acquire) == arrival && !aborted(); };
  for (int i = 0; i < kSpins && waits(); ++i) relax();
  if (!waits()) return !aborted();
  const Clock::time_point limit = Clock::now() + most;
  for (auto left = most; waits(); left = limit - Clock::now()) {
    if (left <= left.zero()) return std::nullopt;
    ++sleepers_;
    sleep_while(round_, arrival, left);
    --sleepers_;
  }
  return !aborted();
}

void Barrier::end(std::uint32_t why) {
  std::uint32_t none = 0;
  end_.compare_exchange_strong(none, why);
  next_round();
}

// Who falls asleep counts itself first, and sleeps only while the round is the old one; so whoever sees no sleepers
// after changing it need not ask the system.
void Barrier::next_round() {
  ++round_;
  if (sleepers_ > 0) syscall(SYS_futex, &round_, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace lockring
