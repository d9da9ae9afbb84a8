#include "data/convert_pixels.h"

#include <algorithm>

namespace lockring::data {
namespace {

void convert_bytes(const std::uint8_t* bytes, std::int64_t count, float scale, float shift, float* __restrict values) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(bytes[i]) * scale + shift;
}

void convert_bytes_backwards(const std::uint8_t* bytes, std::int64_t count, float scale, float shift,
                             float* __restrict values) {
  for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(bytes[count - 1 - i]) * scale + shift;
}

void convert_pixel(const std::uint8_t* pixel, const ChannelScale& channels, float* values) {
  for (std::int64_t c = 0; c < channels.count; ++c) {
    const std::size_t of = channels.uniform() ? 0 : static_cast<std::size_t>(c);
    values[c] = static_cast<float>(pixel[c]) * channels.scale[of] + channels.shift[of];
  }
}

}  // namespace

void convert_pixels(const std::uint8_t* pixels, std::int64_t count, const ChannelScale& channels, float* values) {
  if (channels.uniform())
    return convert_bytes(pixels, count * channels.count, channels.scale[0], channels.shift[0], values);
  for (std::int64_t i = 0; i < count; ++i)
    convert_pixel(pixels + i * channels.count, channels, values + i * channels.count);
}

void convert_mirrored(const std::uint8_t* pixels, std::int64_t count, const ChannelScale& channels, float* values) {
  if (channels.count == 1) return convert_bytes_backwards(pixels, count, channels.scale[0], channels.shift[0], values);
  for (std::int64_t i = 0; i < count; ++i)
    convert_pixel(pixels + (count - 1 - i) * channels.count, channels, values + i * channels.count);
}

void fill_padding(std::int64_t count, const ChannelScale& channels, float* values) {
  if (channels.uniform()) {
    std::fill_n(values, count * channels.count, channels.shift[0]);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) std::ranges::copy(channels.shift, values + i * channels.count);
}

}  // namespace lockring::data
