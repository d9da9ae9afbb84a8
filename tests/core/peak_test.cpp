#include "core/peak.h"

#include "tests/support/errors.h"
#include "tests/support/thread_limit.h"

#include <gtest/gtest.h>

namespace lockring {
namespace {

// No core does more than two 512-bit FMAs a cycle, or 64 operations, and none runs at 8 GHz.
constexpr double kMostGflopsPerCore = 64 * 8;

TEST(Peak, FmaRateIsPlausible) {
  const double gflops = measure_fma_gflops(1);
  EXPECT_GT(gflops, 1);
  EXPECT_LT(gflops, kMostGflopsPerCore);
}

TEST(Peak, ThreadsAddUp) {
  const double gflops = measure_fma_gflops(3);
  EXPECT_GT(gflops, 1);
  EXPECT_LT(gflops, 3 * kMostGflopsPerCore);
}

TEST(Peak, SaysSoIfThereCannotBeSoManyThreads) {
  const ScopedThreadLimit limit;
  expect_error(ErrorCode::device, "cannot start 16 threads", [] { measure_fma_gflops(16); });
}

TEST(Peak, MemoryRateIsPlausible) {
  const double gbs = measure_memory_gbs(2);
  EXPECT_GT(gbs, 0.01);
  EXPECT_LT(gbs, 5000);
}

}  // namespace
}  // namespace lockring
