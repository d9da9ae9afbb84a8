// Facts about the machine and about this build of the program, for `lockring doctor` and for benchmark results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockring::app {

struct Machine {
  std::string cpu;
  std::string instruction_set;  // that kernels are chosen for
  std::string products;         // what computes most matrix products: "LIBXSMM"
  int hardware_threads = 0;     // of the whole machine, online
  int threads_per_core = 0;     // 0 if unknown
  int usable_cores = 0;         // see core/cpu.h
  std::string affinity;         // hardware threads this process may run on: "0-3,8"
  long cache_bytes[3] = {};     // of one core, by level; 0 if unknown
  // Bytes. The control group's limit counts where it is below what the machine has.
  std::int64_t memory_total = 0;
  std::int64_t memory_available = 0;
  // Bytes of /dev/shm, which processes of one machine exchange gradients through; 0 if there is none.
  std::int64_t shared_memory_total = 0;
  std::int64_t shared_memory_free = 0;
};

Machine describe_machine();

// Numbers in ascending order as ranges: {0, 1, 2, 5} is "0-2,5".
std::string ranges_text(const std::vector<int>& numbers);

struct Component {
  std::string name;
  std::string version;  // or "not in this build"
};

// What the program was built with or runs on, one row each.
std::vector<Component> libraries();
// The optional parts.
std::vector<Component> optional_parts();
// "GCC 12.2.0"
std::string compiler();

}  // namespace lockring::app
