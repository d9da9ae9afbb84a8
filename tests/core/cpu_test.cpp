#include "core/cpu.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <thread>

namespace lockring {
namespace {

TEST(Cpu, CoresAreAtLeastOneAndAtMostTheMachines) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), static_cast<int>(std::thread::hardware_concurrency()));
}

TEST(Cpu, CoresFollowTheAffinityMask) {
  std::thread([] {
    cpu_set_t mask;
    ASSERT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    int first = 0;
    while (!CPU_ISSET(first, &mask)) ++first;
    CPU_ZERO(&mask);
    CPU_SET(first, &mask);
    ASSERT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
    EXPECT_EQ(usable_cores(), 1);
  }).join();
}

TEST(Cpu, HasANameWithoutTheFieldsLabel) {
  EXPECT_FALSE(cpu_name().empty());
  EXPECT_EQ(cpu_name().find(':'), std::string::npos);
}

TEST(Cpu, CachesGrowWithTheirLevel) {
  EXPECT_GE(cache_bytes(1), 0);
  EXPECT_TRUE(cache_bytes(2) == 0 || cache_bytes(2) > cache_bytes(1));
  EXPECT_EQ(cache_bytes(0), 0);
  EXPECT_EQ(cache_bytes(4), 0);
}

TEST(Cpu, InstructionSetHasAName) { EXPECT_NE(to_string(Isa::baseline), to_string(Isa::avx512)); }

// In a process of its own, since the answer does not change within one.
TEST(CpuDeathTest, LibxsmmsVariableHoldsTheBaseline) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("LIBXSMM_TARGET", "hsw", 1);
        std::_Exit(active_isa() == Isa::baseline ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Cpu, TheInstructionSetInUseIsThere) {
#if defined(__x86_64__)
  if (active_isa() == Isa::avx512) {
    EXPECT_TRUE(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"));
  } else {
    EXPECT_TRUE(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  }
#else
  EXPECT_EQ(active_isa(), Isa::baseline);
#endif
}

}  // namespace
}  // namespace lockring
