#include "apps/memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

namespace lockring::app {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// The number behind `key` in a file of lines; 0 if there is none.
std::int64_t number_of(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t number = 0;
    if (words >> name >> number && name == key) return number;
  }
  return 0;
}

// "MemTotal:  8152320 kB"
std::int64_t memory_info(const std::string& key) { return 1024 * number_of("/proc/meminfo", key + ":"); }

// Of a control group (version 2) with a number in it; the most possible otherwise ("max", or no such file).
std::int64_t group_bytes(const char* path) {
  std::ifstream file(path);
  std::int64_t bytes = 0;
  return file >> bytes ? bytes : kNoLimit;
}

std::int64_t group_limit() { return group_bytes("/sys/fs/cgroup/memory.max"); }

}  // namespace

std::int64_t available_bytes() {
  const std::int64_t available = memory_info("MemAvailable");
  const std::int64_t limit = group_limit();
  if (limit == kNoLimit) return available;
  const std::int64_t cached = number_of("/sys/fs/cgroup/memory.stat", "inactive_file");
  const std::int64_t used = std::clamp<std::int64_t>(group_bytes("/sys/fs/cgroup/memory.current") - cached, 0, limit);
  return std::min(available, limit - used);
}

std::int64_t total_bytes() { return std::min(memory_info("MemTotal"), group_limit()); }

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0;
  std::int64_t resident = 0;
  return file >> all >> resident ? resident * sysconf(_SC_PAGESIZE) : 0;
}

std::int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace lockring::app
