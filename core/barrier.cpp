#include "core/barrier.h"

namespace lockring {
namespace {

constexpr int kSpins = 4000;  // a few tens of microseconds: replicas of one step arrive about together

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

bool Barrier::wait() {
  const std::uint32_t round = round_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    arrived_.store(0, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_acq_rel);
    round_.notify_all();
    return !aborted();
  }
  for (int i = 0; i < kSpins && round_.load(std::memory_order_acquire) == round; ++i) relax();
  while (round_.load(std::memory_order_acquire) == round && !aborted()) round_.wait(round, std::memory_order_acquire);
  return !aborted();
}

void Barrier::abort() {
  aborted_.store(true, std::memory_order_release);
  round_.fetch_add(1, std::memory_order_acq_rel);
  round_.notify_all();
}

}  // namespace lockring
