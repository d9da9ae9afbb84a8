// Compiled for the plain x86-64 baseline and run before any other code of the program: on a processor without the
// instructions that everything else was built for, one clear line instead of "illegal instruction".
#include <unistd.h>

namespace {

__attribute__((constructor(101))) void require_baseline() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) return;
  constexpr char kMessage[] = "lockring: this processor lacks AVX2, FMA or BMI2 (x86-64-v3), which this build needs\n";
  const auto written = write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  _exit(written < 0 ? 1 : 4);
#endif
}

}  // namespace
