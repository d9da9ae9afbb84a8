#include "data/channel_histogram.h"

#include <algorithm>
#include <cmath>

namespace lockring::data {

void ChannelHistogram::add(std::span<const std::uint8_t> pixels) {
  std::size_t channel = 0;
  for (const std::uint8_t value : pixels) {
    ++counts_[channel][value];
    if (++channel == counts_.size()) channel = 0;
  }
}

ChannelStatistics ChannelHistogram::statistics() const {
  ChannelStatistics statistics;
  for (const auto& counts : counts_) {
    std::int64_t pixels = 0;
    std::int64_t sum = 0;
    std::int64_t squares = 0;
    for (std::int64_t value = 0; value < 256; ++value) {
      pixels += counts[value];
      sum += counts[value] * value;
      squares += counts[value] * value * value;
    }
    const double mean = static_cast<double>(sum) / static_cast<double>(pixels);
    const double variance = static_cast<double>(squares) / static_cast<double>(pixels) - mean * mean;
    statistics.mean.push_back(static_cast<float>(mean / 255));
    statistics.deviation.push_back(static_cast<float>(std::sqrt(std::max(variance, 0.0)) / 255));
  }
  return statistics;
}

}  // namespace lockring::data
