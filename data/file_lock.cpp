#include "data/file_lock.h"

#include "core/error.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lockring::data {
namespace {

// Whether `path` is still the file that was opened: its last holder may have removed it.
bool still_there(int file, const std::filesystem::path& path) {
  struct stat opened {};
  struct stat named {};
  return fstat(file, &opened) == 0 && stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

bool lock_when_free(int file) {
  while (flock(file, LOCK_EX) != 0)
    if (errno != EINTR) return false;
  return true;
}

void close_if_open(int file) {
  if (file >= 0) close(file);
}

}  // namespace

FileLock::FileLock(const std::filesystem::path& path, const std::function<void()>& on_wait) {
  bool waited = false;
  do {
    close_if_open(file_);
    file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    check(file_ >= 0, ErrorCode::data, "cannot write {}: {}", path.string(), std::strerror(errno));
    if (flock(file_, LOCK_EX | LOCK_NB) == 0) continue;
    if (on_wait && !waited) on_wait();
    waited = true;
    if (lock_when_free(file_)) continue;
    const int error = errno;
    close(file_);
    fail(ErrorCode::data, "cannot lock {}: {}", path.string(), std::strerror(error));
  } while (!still_there(file_, path));
}

FileLock::~FileLock() { close_if_open(file_); }

std::unique_ptr<FileLock> FileLock::take_if_free(const std::filesystem::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  if (flock(file, LOCK_EX | LOCK_NB) == 0 && still_there(file, path))
    return std::unique_ptr<FileLock>(new FileLock(file));
  close(file);
  return nullptr;
}

UseLock::UseLock(const std::filesystem::path& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (file_ >= 0) flock(file_, LOCK_SH);  // those who exclude others look and leave
}

UseLock::~UseLock() { close_if_open(file_); }

}  // namespace lockring::data
