// A process that gets no more than a few threads, for tests of what then happens.
#pragma once

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

namespace lockring {

// Room in the address space for a few threads with stacks of 64 MiB each.
class ScopedThreadLimit {
 public:
  ScopedThreadLimit() {
    std::int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &space_);
    rlimit tight = space_;
    tight.rlim_cur = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + 4 * kStack);
    setrlimit(RLIMIT_AS, &tight);
    pthread_getattr_default_np(&stacks_);
    pthread_attr_t large = stacks_;
    pthread_attr_setstacksize(&large, kStack);
    pthread_setattr_default_np(&large);
  }
  ~ScopedThreadLimit() {
    pthread_setattr_default_np(&stacks_);
    setrlimit(RLIMIT_AS, &space_);
  }
  ScopedThreadLimit(const ScopedThreadLimit&) = delete;
  ScopedThreadLimit& operator=(const ScopedThreadLimit&) = delete;

 private:
  static constexpr std::int64_t kStack = std::int64_t{64} << 20;
  rlimit space_{};
  pthread_attr_t stacks_{};
};

}  // namespace lockring
