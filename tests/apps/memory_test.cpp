#include "apps/memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace lockring::app {
namespace {

TEST(Memory, GrowsWithWhatIsTouched) {
  constexpr std::int64_t kMany = std::int64_t{64} << 20;
  const std::int64_t before = resident_bytes();
  EXPECT_GT(before, 1 << 20);
  {
    const std::vector<char> block(kMany, 1);
    EXPECT_GT(resident_bytes(), before + kMany / 2 + block[0]);
  }
  EXPECT_LT(resident_bytes(), before + kMany / 2);
  EXPECT_GT(peak_resident_bytes(), before + kMany / 2);
}

}  // namespace
}  // namespace lockring::app
