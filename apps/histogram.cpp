#include "apps/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockring::app {
namespace {

constexpr std::int64_t kBuckets = 64;  // TensorBoard draws about thirty

void add_moments(Histogram& histogram, double value) {
  histogram.min = std::min(histogram.min, value);
  histogram.max = std::max(histogram.max, value);
  ++histogram.count;
  histogram.sum += value;
  histogram.sum_of_squares += value * value;
}

}  // namespace

Histogram histogram_of(std::span<const float> values, double scale) {
  Histogram histogram;
  histogram.min = std::numeric_limits<double>::infinity();
  histogram.max = -histogram.min;
  for (const float value : values)
    if (std::isfinite(value)) add_moments(histogram, scale * value);
  if (histogram.count == 0) return {};
  const double width = (histogram.max - histogram.min) / kBuckets;
  const std::int64_t buckets = width > 0 ? kBuckets : 1;
  for (std::int64_t i = 1; i < buckets; ++i) histogram.limits.push_back(histogram.min + width * static_cast<double>(i));
  histogram.limits.push_back(histogram.max);
  histogram.counts.resize(static_cast<std::size_t>(buckets));
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double place = width > 0 ? (scale * value - histogram.min) / width : 0;
    ++histogram.counts[static_cast<std::size_t>(std::min(static_cast<std::int64_t>(place), buckets - 1))];
  }
  return histogram;
}

}  // namespace lockring::app
