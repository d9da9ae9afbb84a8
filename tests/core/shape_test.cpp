#include "core/shape.h"

#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <vector>

namespace lockring {
namespace {

TEST(Shape, CountsItsElements) {
  EXPECT_EQ(Shape({2, 3, 4}).elements(), 24);
  EXPECT_EQ(Shape({5, 0, 7}).elements(), 0);
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(Shape().rank(), 0);
}

TEST(Shape, CountsBeyond32Bits) {
  const Shape shape({70'000, 70'000, 3});
  EXPECT_EQ(shape.elements(), 14'700'000'000);
  EXPECT_EQ(shape.with_leading(4'000'000'000).elements(), 840'000'000'000'000);
}

TEST(Shape, IndexesFromBothEnds) {
  const Shape shape({2, 3, 4});
  EXPECT_EQ(shape[0], 2);
  EXPECT_EQ(shape[-1], 4);
  EXPECT_EQ(shape[-3], 2);
  EXPECT_EQ(std::vector<std::int64_t>(shape.begin(), shape.end()), (std::vector<std::int64_t>{2, 3, 4}));
}

TEST(Shape, IsEqualByRankAndSizes) {
  EXPECT_EQ(Shape({2, 3}), Shape({2, 3}));
  EXPECT_NE(Shape({2, 3}), Shape({3, 2}));
  EXPECT_NE(Shape({2, 3}), Shape({2, 3, 1}));
  EXPECT_NE(Shape(), Shape({1}));
}

TEST(Shape, LeadingSizeIsReplaced) { EXPECT_EQ(Shape({2, 3, 4}).with_leading(9), Shape({9, 3, 4})); }

TEST(Shape, RejectsWhatIsNoShape) {
  expect_error(ErrorCode::usage, "-1", [] { Shape({2, -1}); });
  expect_error(ErrorCode::usage, "at most 6", [] { Shape({1, 1, 1, 1, 1, 1, 1}); });
  constexpr std::int64_t kLarge = std::int64_t{1} << 32;
  expect_error(ErrorCode::usage, "cannot be counted", [] { Shape({kLarge, kLarge}); });
  expect_error(ErrorCode::usage, "cannot be counted", [] { Shape({2, kLarge}).with_leading(kLarge); });
}

TEST(Shape, PrintsAsAList) {
  EXPECT_EQ(to_string(Shape({2, 28, 28, 1})), "[2, 28, 28, 1]");
  EXPECT_EQ(to_string(Shape({7})), "[7]");
  EXPECT_EQ(to_string(Shape()), "[]");
  EXPECT_EQ(fmt::format("of {}", Shape({2, 3})), "of [2, 3]");
}

}  // namespace
}  // namespace lockring
