// What the processor can do, and how many threads this process may use.
#pragma once

#include <string>

namespace lockring {

// The instruction set that kernels are chosen for, at run time. `baseline` is what the program was built for:
// x86-64-v3 (AVX2, FMA) on x86, the plain baseline elsewhere; `avx512` is x86-64-v4.
enum class Isa { baseline, avx512 };

// The best that this machine has. LIBXSMM_TARGET=hsw (LIBXSMM's own variable) holds it at the baseline, so one
// variable governs generated and compiled kernels alike. The result does not change while the process runs.
Isa active_isa();
std::string to_string(Isa isa);

// Cores in this process's affinity mask, at least 1, or of its container's CPU quota (rounded up) where that is fewer.
int usable_cores();
// "AMD EPYC 9355", or the architecture's name where the system does not say.
std::string cpu_name();
// Cache of one core, in bytes; 0 if unknown. Level 1 is the data cache.
long cache_bytes(int level);

}  // namespace lockring
