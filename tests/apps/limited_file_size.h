// A disk that is nearly full, as far as this process can tell.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace lockring::app {

// While it lives no file grows beyond `bytes`: writing more is an error.
class LimitedFileSize {
 public:
  explicit LimitedFileSize(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limited = before_;
    limited.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limited);
  }
  ~LimitedFileSize() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  LimitedFileSize(const LimitedFileSize&) = delete;
  LimitedFileSize& operator=(const LimitedFileSize&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace lockring::app
