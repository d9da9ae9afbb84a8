// Locks between processes on one machine, held by the kernel for as long as the holder lives: a process that is killed
// leaves nothing to clean up.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

namespace lockring::data {

// Held by one at a time. The file stays; who holds the lock may remove it.
class FileLock {
 public:
  // Waits until the lock is free; calls `on_wait` once if it has to. Throws Error{data} if the file cannot be made.
  explicit FileLock(const std::filesystem::path& path, const std::function<void()>& on_wait = {});
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  // Null if somebody holds the lock, or the file is not there or cannot be opened.
  static std::unique_ptr<FileLock> take_if_free(const std::filesystem::path& path);

 private:
  explicit FileLock(int file) : file_(file) {}

  int file_ = -1;
};

// Says that a file is in use: as long as it lives, nobody can take a FileLock on the file. Any number may share one.
// Does nothing where the file cannot be locked.
class UseLock {
 public:
  explicit UseLock(const std::filesystem::path& path);
  ~UseLock();
  UseLock(const UseLock&) = delete;
  UseLock& operator=(const UseLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace lockring::data
