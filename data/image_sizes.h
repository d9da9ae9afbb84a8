// How large the images of a set are.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lockring::data {

// Of all images of a set together, in pixels.
struct ImageSizes {
  std::int64_t least_height = 0;
  std::int64_t most_height = 0;
  std::int64_t least_width = 0;
  std::int64_t most_width = 0;
  std::int64_t channels = 0;  // of the set; an image of one becomes one of three if another has three

  // Whether all images are as large.
  bool one() const { return least_height == most_height && least_width == most_width; }

  void add(std::int64_t height, std::int64_t width, std::int64_t image_channels) {
    const bool first = channels == 0;
    least_height = first ? height : std::min(least_height, height);
    least_width = first ? width : std::min(least_width, width);
    most_height = std::max(most_height, height);
    most_width = std::max(most_width, width);
    channels = std::max(channels, image_channels);
  }

  bool operator==(const ImageSizes&) const = default;
};

}  // namespace lockring::data
