// The lock on a run's folder, held by the process that trains in it. The kernel lets go of it when that process ends,
// however it ends.
#pragma once

#include <chrono>
#include <filesystem>

namespace lockring::app {

class RunLock {
 public:
  RunLock() = default;
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

  // False if another process trains in the folder, which is certain after some `patience`: whoever only looks whether
  // there is a lock holds it for an instant. A file system without locks, or a folder that cannot be opened, keeps
  // nobody out. Once per object.
  [[nodiscard]] bool take(const std::filesystem::path& folder,
                          std::chrono::milliseconds patience = std::chrono::milliseconds(100));

 private:
  int folder_ = -1;
};

}  // namespace lockring::app
