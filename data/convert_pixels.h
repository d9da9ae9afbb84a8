// The inner loops of a transform: bytes to float32, pixel by pixel of interleaved channels. All write `count` pixels.
#pragma once

#include <cstdint>
#include <span>

namespace lockring::data {

// A byte b of channel c becomes b * scale[c] + shift[c]; one element stands for all channels.
struct ChannelScale {
  std::span<const float> scale;
  std::span<const float> shift;
  std::int64_t count;  // channels

  bool uniform() const { return scale.size() == 1; }
};

void convert_pixels(const std::uint8_t* pixels, std::int64_t count, const ChannelScale& channels, float* values);
// The last pixel first; the channels of a pixel keep their order.
void convert_mirrored(const std::uint8_t* pixels, std::int64_t count, const ChannelScale& channels, float* values);
// What byte 0 becomes.
void fill_padding(std::int64_t count, const ChannelScale& channels, float* values);

}  // namespace lockring::data
