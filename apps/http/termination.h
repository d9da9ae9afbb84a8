// SIGTERM and Ctrl-C for programs that serve until they are told to stop.
#pragma once

namespace lockring::app::http {

// While it lives, SIGTERM and SIGINT end no thread; one thread waits for them. Make it before any other thread starts,
// since threads inherit what is blocked. One at a time.
class Termination {
 public:
  Termination();
  ~Termination();
  Termination(const Termination&) = delete;
  Termination& operator=(const Termination&) = delete;

  // Returns the signal's number. From then on a second signal ends the process at once.
  int wait();
};

}  // namespace lockring::app::http
