// A lock between processes on one machine, held by the kernel for as long as the holder lives: a process that is killed
// leaves nothing to clean up. The file itself stays.
#pragma once

#include <filesystem>
#include <functional>

namespace lockring::data {

class FileLock {
 public:
  // Waits until the lock is free; calls `on_wait` once if it has to. Throws Error{data} if the file cannot be made.
  explicit FileLock(const std::filesystem::path& path, const std::function<void()>& on_wait = {});
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace lockring::data
