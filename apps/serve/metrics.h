// /metrics: Prometheus text format 0.0.4, with histograms, and Triton's counter names beside ours.
#pragma once

#include "apps/serve/jobs.h"
#include "apps/serve/repository.h"

#include <string>

namespace lockring::app::serve {

std::string metrics_text(const Repository& repository, const JobStore& jobs);

// The value below which a share `q` of what was counted lies, from the buckets; 0 of nothing.
template <std::size_t kBounds>
double quantile(const Buckets<kBounds>& buckets, double q) {
  double total = 0;
  for (std::size_t i = 0; i <= kBounds; ++i) total += static_cast<double>(buckets.count(i));
  double below = 0;
  for (std::size_t i = 0; i < kBounds && total > 0; ++i) {
    const auto here = static_cast<double>(buckets.count(i));
    if (below + here >= q * total && here > 0) {
      const double low = i == 0 ? 0 : buckets.bounds()[i - 1];
      return low + (buckets.bounds()[i] - low) * (q * total - below) / here;
    }
    below += here;
  }
  return total > 0 ? buckets.bounds()[kBounds - 1] : 0;
}

}  // namespace lockring::app::serve
