#include "apps/load/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lockring::app {
namespace {

constexpr int kBits = 7;  // of buckets in a power of two

std::size_t bucket_of(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  const int shift = std::max(0, static_cast<int>(std::bit_width(bits)) - kBits - 1);
  return (static_cast<std::size_t>(shift) << kBits) + (bits >> shift);
}

// The middle of a bucket.
std::int64_t value_of(std::size_t bucket) {
  const std::size_t row = bucket >> kBits;
  if (row < 2) return static_cast<std::int64_t>(bucket);
  const auto shift = static_cast<int>(row - 1);
  const std::uint64_t low = (bucket - (static_cast<std::size_t>(shift) << kBits)) << shift;
  return static_cast<std::int64_t>(low + ((std::uint64_t{1} << shift) >> 1));
}

}  // namespace

void LatencyHistogram::record(std::int64_t nanoseconds) {
  const std::int64_t value = std::max<std::int64_t>(nanoseconds, 0);
  const std::size_t bucket = bucket_of(value);
  if (bucket >= buckets_.size()) buckets_.resize(bucket + 1);
  ++buckets_[bucket];
  ++count_;
  max_ = std::max(max_, value);
  sum_ += static_cast<double>(value);
}

void LatencyHistogram::merge(const LatencyHistogram& other) {
  buckets_.resize(std::max(buckets_.size(), other.buckets_.size()));
  for (std::size_t i = 0; i < other.buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
}

double LatencyHistogram::mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

std::int64_t LatencyHistogram::percentile(double share) const {
  const auto rank = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(count_)));
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= std::max<std::int64_t>(rank, 1)) return std::min(value_of(i), max_);
  }
  return max_;
}

}  // namespace lockring::app
