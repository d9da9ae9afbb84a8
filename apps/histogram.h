// How often values occur, in buckets of equal width.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lockring::app {

struct Histogram {
  double min = 0;
  double max = 0;
  std::int64_t count = 0;
  double sum = 0;
  double sum_of_squares = 0;
  std::vector<double> limits;  // the right edge of each bucket, rising; the last is max
  std::vector<double> counts;  // of each bucket
};

// Of scale * value for the values that are finite; no bucket if there are none, one bucket if all are the same.
Histogram histogram_of(std::span<const float> values, double scale = 1);

}  // namespace lockring::app
