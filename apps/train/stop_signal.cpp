#include "apps/train/stop_signal.h"

#include <atomic>
#include <csignal>

namespace lockring::app {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};
std::atomic<int> received_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

void set_handlers(void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

extern "C" void note_signal(int signal) { received_signal.store(signal); }

}  // namespace

StopSignal::StopSignal() {
  received_signal.store(0);
  set_handlers(note_signal, SA_RESETHAND | SA_RESTART);
}

StopSignal::~StopSignal() { set_handlers(SIG_DFL, 0); }

int StopSignal::received() { return received_signal.load(std::memory_order_relaxed); }

}  // namespace lockring::app
