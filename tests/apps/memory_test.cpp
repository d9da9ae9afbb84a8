#include "apps/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace lockring::app {
namespace {

TEST(Memory, GrowsWithWhatIsTouched) {
  constexpr std::int64_t kMany = std::int64_t{64} << 20;
  const std::int64_t before = resident_bytes();
  EXPECT_GT(before, 1 << 20);
  // Not from the heap, which may keep what is freed.
  void* block = mmap(nullptr, kMany, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  std::memset(block, 1, kMany);
  EXPECT_GT(resident_bytes(), before + kMany / 2);
  munmap(block, kMany);
  EXPECT_LT(resident_bytes(), before + kMany / 2);
  EXPECT_GT(peak_resident_bytes(), before + kMany / 2);
}

}  // namespace
}  // namespace lockring::app
