// Mean and deviation of images that pass by once.
#pragma once

#include "data/content.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace lockring::data {

// Counts the values of each channel, so that sums are exact and the same in any order. One thread at a time.
class ChannelHistogram {
 public:
  explicit ChannelHistogram(std::int64_t channels) : counts_(static_cast<std::size_t>(channels)) {}

  // Whole pixels.
  void add(std::span<const std::uint8_t> pixels);
  // Of what was added, at least a pixel.
  ChannelStatistics statistics() const;

 private:
  std::vector<std::array<std::int64_t, 256>> counts_;
};

}  // namespace lockring::data
