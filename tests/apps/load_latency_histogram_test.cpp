#include "apps/load/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace lockring::app {
namespace {

TEST(LatencyHistogram, OfNothingIsZero) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.count(), 0);
  EXPECT_EQ(histogram.percentile(0.99), 0);
  EXPECT_EQ(histogram.max(), 0);
  EXPECT_EQ(histogram.mean(), 0);
}

TEST(LatencyHistogram, IsExactForSmallValues) {
  LatencyHistogram histogram;
  for (int value = 0; value < 256; ++value) histogram.record(value);
  EXPECT_EQ(histogram.percentile(0), 0);
  EXPECT_EQ(histogram.percentile(0.5), 127);
  EXPECT_EQ(histogram.percentile(1), 255);
  EXPECT_EQ(histogram.mean(), 127.5);
}

TEST(LatencyHistogram, KnowsAnyValueToWithinOneInTwoHundredAndFifty) {
  for (std::int64_t value = 1; value < std::numeric_limits<std::int64_t>::max() / 3;
       value = 2 * value + value / 3 + 1) {
    LatencyHistogram histogram;
    histogram.record(value);
    histogram.record(4 * (value / 2));  // so that the maximum does not help
    EXPECT_LE(std::abs(static_cast<double>(histogram.percentile(0.5) - value)), static_cast<double>(value) / 256 + 1)
        << value;
  }
}

TEST(LatencyHistogram, AgreesWithSorting) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> latencies(12, 2);
  LatencyHistogram halves[2];
  std::vector<double> values;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(std::floor(latencies(random)));
    halves[i % 2].record(static_cast<std::int64_t>(values.back()));
  }
  halves[0].merge(halves[1]);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(halves[0].count(), 20'000);
  EXPECT_EQ(static_cast<double>(halves[0].max()), values.back());
  for (const double share : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const double expected = values[static_cast<std::size_t>(std::ceil(share * 20'000)) - 1];
    EXPECT_NEAR(static_cast<double>(halves[0].percentile(share)), expected, expected / 200) << share;
  }
}

TEST(LatencyHistogram, TakesExtremes) {
  LatencyHistogram histogram;
  histogram.record(-5);
  EXPECT_EQ(histogram.percentile(1), 0);
  histogram.record(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(histogram.max(), std::numeric_limits<std::int64_t>::max());
  EXPECT_GT(histogram.percentile(1), std::numeric_limits<std::int64_t>::max() / 2);
}

}  // namespace
}  // namespace lockring::app
