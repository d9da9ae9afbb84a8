// Counts durations so that any percentile can be asked for, in bounded memory and without sorting.
#pragma once

#include <cstdint>
#include <vector>

namespace lockring::app {

// Log-linear, as HdrHistogram has it: each power of two is divided into 128 buckets of equal width, so that every value
// is known to within 0.4 %. Any non-negative int64 fits. Not for several threads; one a thread, then merge.
class LatencyHistogram {
 public:
  // Negative durations (a clock's jitter) count as 0.
  void record(std::int64_t nanoseconds);
  void merge(const LatencyHistogram& other);

  std::int64_t count() const { return count_; }
  std::int64_t max() const { return max_; }  // exact
  double mean() const;                       // exact; 0 of none
  // The value, in nanoseconds, that `share` (0 to 1) of the recorded ones do not exceed; 0 of none.
  std::int64_t percentile(double share) const;

 private:
  std::vector<std::int64_t> buckets_;  // up to the highest that counts
  std::int64_t count_ = 0;
  std::int64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace lockring::app
