#include "apps/stop_signal.h"

#include <atomic>
#include <csignal>

namespace lockring::app {
namespace {

std::atomic<int> received{0};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void note_signal(int signal) { received.store(signal); }

}  // namespace

void catch_stop_signals() {
  if (stop_signal() != 0) return;
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

int stop_signal() { return received.load(std::memory_order_relaxed); }

}  // namespace lockring::app
