#include "apps/machine.h"

#include "apps/memory.h"
#include "core/cpu.h"
#include "ops/cpu/brgemm.h"

#include <fmt/core.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace lockring::app {
namespace {

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<int> affinity_mask() {
  std::vector<int> threads;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return threads;
  for (int thread = 0; thread < CPU_SETSIZE; ++thread) {
    if (CPU_ISSET(thread, &mask)) threads.push_back(thread);
  }
  return threads;
}

// The kernel lists the threads of a core as "0,64" or "0-1".
int count_siblings() {
  const std::string list = first_line("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list");
  if (list.empty()) return 0;
  const auto separators = std::count_if(list.begin(), list.end(), [](char c) { return c == ',' || c == '-'; });
  return 1 + static_cast<int>(separators);
}

void describe_memory(Machine& machine) {
  machine.memory_total = total_bytes();
  machine.memory_available = available_bytes();
  struct statvfs shared {};
  if (statvfs("/dev/shm", &shared) == 0) {
    machine.shared_memory_total = static_cast<std::int64_t>(shared.f_blocks * shared.f_frsize);
    machine.shared_memory_free = static_cast<std::int64_t>(shared.f_bavail * shared.f_frsize);
  }
}

}  // namespace

Machine describe_machine() {
  Machine machine;
  machine.cpu = cpu_name();
  machine.instruction_set = to_string(active_isa());
  machine.products = kernels::cpu::brgemm_backend();
  machine.hardware_threads = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  machine.threads_per_core = count_siblings();
  machine.usable_cores = usable_cores();
  machine.affinity = ranges_text(affinity_mask());
  for (int level = 1; level <= 3; ++level) machine.cache_bytes[level - 1] = cache_bytes(level);
  describe_memory(machine);
  return machine;
}

std::string ranges_text(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t begin = 0; begin < numbers.size();) {
    std::size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[begin]);
    if (end - begin > 1) text += fmt::format("-{}", numbers[end - 1]);
    begin = end;
  }
  return text;
}

}  // namespace lockring::app
