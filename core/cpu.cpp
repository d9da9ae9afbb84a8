#include "core/cpu.h"

#include <sched.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

namespace lockring {
namespace {

Isa detect_isa() {
#if defined(__x86_64__)
  const char* target = std::getenv("LIBXSMM_TARGET");
  const bool held = target != nullptr && (strcasecmp(target, "hsw") == 0 || strcasecmp(target, "avx2") == 0);
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx512 && !held) return Isa::avx512;
#endif
  return Isa::baseline;
}

// Cores of a control group's quota (version 2); 0 if there is none.
int quota_cores() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0;
  double period = 0;
  if (!(file >> quota >> period) || period <= 0) return 0;
  return static_cast<int>(std::ceil(quota / period));
}

// From the kernel's list, "1024K" and the like; 0 if it has none. On virtual machines the C library, which asks the
// processor, has been seen to give the level 3 cache of the whole host.
long listed_cache_bytes(int level) {
  for (int index = 0;; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream level_file(folder + "level");
    std::ifstream type_file(folder + "type");
    std::ifstream size_file(folder + "size");
    int found_level = 0;
    std::string type;
    long kibibytes = 0;
    if (!(level_file >> found_level) || !(type_file >> type) || !(size_file >> kibibytes)) return 0;
    if (found_level == level && type != "Instruction") return kibibytes * 1024;
  }
}

}  // namespace

Isa active_isa() {
  static const Isa isa = detect_isa();
  return isa;
}

std::string to_string(Isa isa) {
#if defined(__x86_64__)
  return isa == Isa::avx512 ? "AVX-512" : "AVX2";
#else
  return "baseline";
#endif
}

int usable_cores() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  int cores = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : 1;
  if (const int quota = quota_cores(); quota > 0) cores = std::min(cores, quota);
  return std::max(cores, 1);
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
#if defined(__aarch64__)
  return "64-bit Arm";
#else
  return "x86-64";
#endif
}

long cache_bytes(int level) {
  if (const long bytes = listed_cache_bytes(level); bytes > 0) return bytes;
  const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  return level < 1 || level > 3 ? 0 : std::max(sysconf(names[level - 1]), 0L);
}

}  // namespace lockring
