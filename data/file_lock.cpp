#include "data/file_lock.h"

#include "core/error.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lockring::data {

FileLock::FileLock(const std::filesystem::path& path, const std::function<void()>& on_wait) {
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  check(file_ >= 0, ErrorCode::data, "cannot write {}: {}", path.string(), std::strerror(errno));
  if (flock(file_, LOCK_EX | LOCK_NB) == 0) return;
  if (on_wait) on_wait();
  while (flock(file_, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    const int error = errno;
    close(file_);
    fail(ErrorCode::data, "cannot lock {}: {}", path.string(), std::strerror(error));
  }
}

FileLock::~FileLock() { close(file_); }

}  // namespace lockring::data
