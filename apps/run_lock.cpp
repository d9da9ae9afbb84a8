#include "apps/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace lockring::app {

RunLock::~RunLock() {
  if (folder_ >= 0) close(folder_);
}

// Whoever only looks whether there is a lock holds it for an instant: it is tried a few times.
bool RunLock::take(const std::filesystem::path& folder) {
  constexpr int kTries = 10;
  constexpr std::chrono::milliseconds kPause{5};
  folder_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; folder_ >= 0 && flock(folder_, LOCK_EX | LOCK_NB) != 0; ++i) {
    if (errno != EWOULDBLOCK) break;
    if (i == kTries) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

}  // namespace lockring::app
