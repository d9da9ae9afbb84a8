#include "apps/histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace lockring::app {
namespace {

TEST(Histogram, CountsEveryValueInItsBucket) {
  // From -1 to 3 in 64 buckets of 1/16; a value on an edge belongs to the bucket on its right.
  const std::vector<float> values = {-1, 3, 0, 0.03F, 2.999F};
  const Histogram histogram = histogram_of(values);
  EXPECT_EQ(histogram.min, -1);
  EXPECT_EQ(histogram.max, 3);
  EXPECT_EQ(histogram.count, 5);
  EXPECT_NEAR(histogram.sum, 5.029, 1e-6);
  EXPECT_NEAR(histogram.sum_of_squares, 1 + 9 + 0.0009 + 2.999 * 2.999, 1e-6);
  ASSERT_EQ(histogram.limits.size(), 64u);
  ASSERT_EQ(histogram.counts.size(), 64u);
  EXPECT_EQ(histogram.limits[0], -1 + 1.0 / 16);
  EXPECT_EQ(histogram.limits.back(), 3);
  EXPECT_EQ(histogram.counts[0], 1);
  EXPECT_EQ(histogram.counts[16], 2);
  EXPECT_EQ(histogram.counts.back(), 2);
  EXPECT_EQ(std::accumulate(histogram.counts.begin(), histogram.counts.end(), 0.0), 5);
}

TEST(Histogram, ScalesWhatItCounts) {
  const std::vector<float> values = {2, 4};
  const Histogram histogram = histogram_of(values, -0.5);
  EXPECT_EQ(histogram.min, -2);
  EXPECT_EQ(histogram.max, -1);
  EXPECT_EQ(histogram.sum, -3);
  EXPECT_EQ(histogram.sum_of_squares, 5);
  EXPECT_EQ(histogram.counts.front(), 1);
  EXPECT_EQ(histogram.counts.back(), 1);
}

TEST(Histogram, OfEqualValuesIsOneBucket) {
  const std::vector<float> zeros(7);
  const Histogram histogram = histogram_of(zeros);
  EXPECT_EQ(histogram.limits, std::vector<double>{0});
  EXPECT_EQ(histogram.counts, std::vector<double>{7});
}

TEST(Histogram, LeavesOutWhatIsNotFinite) {
  const std::vector<float> values = {1, std::nanf(""), std::numeric_limits<float>::infinity(), 2};
  EXPECT_EQ(histogram_of(values).count, 2);
  EXPECT_EQ(histogram_of(values).max, 2);
  const std::vector<float> none = {std::nanf("")};
  EXPECT_EQ(histogram_of(none).count, 0);
  EXPECT_TRUE(histogram_of(none).counts.empty());
  EXPECT_EQ(histogram_of(none).min, 0);
}

// The extremes of float: the span of the buckets must not overflow.
TEST(Histogram, HoldsTheLargestNumbers) {
  const float most = std::numeric_limits<float>::max();
  const std::vector<float> values = {-most, most, 0};
  const Histogram histogram = histogram_of(values);
  EXPECT_EQ(histogram.counts.front(), 1);
  EXPECT_EQ(histogram.counts[32], 1);
  EXPECT_EQ(histogram.counts.back(), 1);
  const float least = std::numeric_limits<float>::denorm_min();
  const std::vector<float> tiny = {0, least};
  EXPECT_EQ(histogram_of(tiny).counts.back(), 1);
}

}  // namespace
}  // namespace lockring::app
