// A function run in a process of its own, for what processes do to each other and to themselves.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

namespace lockring::data {

class ChildProcess {
 public:
  // The child ends with the result of `f`, with 98 if a check of the test failed in it, or with 99 if it throws.
  explicit ChildProcess(const std::function<int()>& f) : id_(fork()) {
    if (id_ != 0) return;
    int code = 99;
    try {
      code = f();
      if (testing::Test::HasFailure()) code = 98;
    } catch (...) {
    }
    _exit(code);
  }
  ~ChildProcess() {
    kill();
    wait();
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void kill() const {
    if (id_ > 0) ::kill(id_, SIGKILL);
  }
  // Its exit code, or -1 if it was killed.
  int wait() {
    int status = 0;
    if (id_ <= 0 || waitpid(id_, &status, 0) != id_) return -1;
    id_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t id_;
};

}  // namespace lockring::data
