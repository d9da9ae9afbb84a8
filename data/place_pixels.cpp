#include "data/place_pixels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

namespace lockring::data {
namespace {

// Rows are short: eight bytes at a time, where the last eight may overlap the ones before.
void reverse_bytes(const std::uint8_t* from, std::int64_t count, std::uint8_t* to) {
  constexpr std::int64_t kWord = 8;
  if (count < kWord) {
    std::reverse_copy(from, from + count, to);
    return;
  }
  const auto reverse_word = [=](std::int64_t at) {
    std::uint64_t word;
    std::memcpy(&word, from + count - kWord - at, kWord);
    word = __builtin_bswap64(word);
    std::memcpy(to + at, &word, kWord);
  };
  for (std::int64_t at = 0; at < count - kWord; at += kWord) reverse_word(at);
  reverse_word(count - kWord);
}

// Four bytes at a time; the fourth is written over by the next pixel.
void reverse_colours(const std::uint8_t* from, std::int64_t count, std::uint8_t* to) {
  constexpr std::int64_t kChannels = 3;
  std::copy_n(from + (count - 1) * kChannels, kChannels, to);  // behind the last one there may be nothing to read
  for (std::int64_t i = 1; i < count - 1; ++i) std::memcpy(to + i * kChannels, from + (count - 1 - i) * kChannels, 4);
  if (count > 1) std::copy_n(from, kChannels, to + (count - 1) * kChannels);
}

void mirror_pixels(const std::uint8_t* from, std::int64_t count, std::int64_t channels, std::uint8_t* to) {
  if (channels == 1) return reverse_bytes(from, count, to);
  if (channels == 3) return reverse_colours(from, count, to);
  for (std::int64_t i = 0; i < count; ++i) std::copy_n(from + (count - 1 - i) * channels, channels, to + i * channels);
}

}  // namespace

void place_rows(const std::uint8_t* pixels, std::int64_t height, std::int64_t width, std::int64_t channels,
                const Placement& placement, std::int64_t begin, std::int64_t end, std::uint8_t* rows) {
  const std::int64_t row = width * channels;
  const std::int64_t kept = width - std::abs(placement.right);
  const std::int64_t from_column = std::max<std::int64_t>(0, placement.right);
  const std::int64_t gap_before = std::max<std::int64_t>(0, -placement.right);
  const std::int64_t to_column = placement.mirrored ? width - kept - gap_before : gap_before;
  if (placement.right != 0 || placement.down != 0) std::memset(rows, 0, static_cast<std::size_t>((end - begin) * row));
  const std::int64_t first = std::max(begin, -placement.down);
  const std::int64_t last = std::min(end, height - placement.down);
  for (std::int64_t y = first; y < last; ++y) {
    const std::uint8_t* from = pixels + (y + placement.down) * row + from_column * channels;
    std::uint8_t* to = rows + (y - begin) * row + to_column * channels;
    if (placement.mirrored)
      mirror_pixels(from, kept, channels, to);
    else
      std::memcpy(to, from, static_cast<std::size_t>(kept * channels));
  }
}

Rotation::Rotation(double degrees) {
  const double angle = degrees * std::numbers::pi / 180;
  sine = std::llround(std::sin(angle) * 65536);
  cosine = std::llround(std::cos(angle) * 65536);
}

// Coordinates are in units of 2^-17 of a pixel, so that the centre of an even size is whole, and weights in 256ths.
void rotate_pixels(const std::uint8_t* pixels, std::int64_t height, std::int64_t width, std::int64_t channels,
                   const Rotation& rotation, std::uint8_t* turned) {
  const auto pixel = [=](std::int64_t y, std::int64_t x, std::int64_t c) -> std::int64_t {
    return y < 0 || y >= height || x < 0 || x >= width ? 0 : pixels[(y * width + x) * channels + c];
  };
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x) {
      const std::int64_t down = 2 * y - (height - 1), right = 2 * x - (width - 1);  // from the centre, in half pixels
      const std::int64_t at_y = rotation.cosine * down - rotation.sine * right + (height - 1) * 65536;
      const std::int64_t at_x = rotation.cosine * right + rotation.sine * down + (width - 1) * 65536;
      const std::int64_t row = at_y >> 17, column = at_x >> 17;
      const std::int64_t below = at_y >> 9 & 255, beside = at_x >> 9 & 255;
      const auto blend = [=](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
        const std::int64_t upper = a * (256 - beside) + b * beside;
        const std::int64_t lower = c * (256 - beside) + d * beside;
        return static_cast<std::uint8_t>((upper * (256 - below) + lower * below + 32768) >> 16);
      };
      if (row >= 0 && row + 1 < height && column >= 0 && column + 1 < width) {
        const std::uint8_t* at = pixels + (row * width + column) * channels;
        const std::uint8_t* under = at + width * channels;
        for (std::int64_t c = 0; c < channels; ++c, ++at, ++under)
          *turned++ = blend(at[0], at[channels], under[0], under[channels]);
      } else {
        for (std::int64_t c = 0; c < channels; ++c)
          *turned++ = blend(pixel(row, column, c), pixel(row, column + 1, c), pixel(row + 1, column, c),
                            pixel(row + 1, column + 1, c));
      }
    }
}

}  // namespace lockring::data
