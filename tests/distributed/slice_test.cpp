#include "distributed/slice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace lockring::dist {
namespace {

TEST(Slice, OverlapsWhatSharesAnElementWithIt) {
  EXPECT_TRUE((Slice{2, 5}.overlaps({4, 9})));
  EXPECT_TRUE((Slice{2, 5}.overlaps({0, 3})));
  EXPECT_FALSE((Slice{2, 5}.overlaps({5, 9})));
  EXPECT_FALSE((Slice{2, 5}.overlaps({0, 2})));
}

TEST(SliceOf, CoversTheArenaWithoutOverlap) {
  for (const std::int64_t elements : {0, 1, 16, 17, 4096, 4097, 100000}) {
    for (const std::int64_t granularity : {1, 16, 4096}) {
      for (const int replicas : {1, 2, 3, 7, 64}) {
        std::int64_t end = 0;
        for (int replica = 0; replica < replicas; ++replica) {
          const Slice slice = slice_of(elements, granularity, replicas, replica);
          ASSERT_EQ(slice.begin, end);
          ASSERT_LE(slice.begin, slice.end);
          if (slice.begin < slice.end) {
            ASSERT_EQ(slice.begin % granularity, 0);
          }
          end = slice.end;
        }
        ASSERT_EQ(end, elements);
      }
    }
  }
}

TEST(SliceOf, IsEvenToOneBlock) {
  for (const int replicas : {2, 3, 5}) {
    std::vector<std::int64_t> blocks;
    for (int replica = 0; replica < replicas; ++replica) {
      const Slice slice = slice_of(1000 * 16 + 3, 16, replicas, replica);
      blocks.push_back((slice.size() + 15) / 16);
    }
    const auto [least, most] = std::ranges::minmax(blocks);
    EXPECT_LE(most - least, 1);
  }
  EXPECT_EQ(slice_of(96, 16, 2, 1), (Slice{48, 96}));
}

TEST(SliceOf, ManagesHugeArenas) {
  constexpr std::int64_t kElements = (std::int64_t{1} << 40) + 5;
  EXPECT_EQ(slice_of(kElements, 4096, 256, 255).end, kElements);
  EXPECT_EQ(slice_of(kElements, 4096, 256, 128).begin, std::int64_t{1} << 39);
}

}  // namespace
}  // namespace lockring::dist
