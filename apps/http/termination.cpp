#include "apps/http/termination.h"

#include <csignal>

namespace lockring::app::http {
namespace {

sigset_t signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

Termination::Termination() {
  const sigset_t set = signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Termination::~Termination() {
  const sigset_t set = signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

int Termination::wait() {
  const sigset_t set = signals();
  int signal = 0;
  while (sigwait(&set, &signal) != 0) {
  }
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  return signal;
}

}  // namespace lockring::app::http
