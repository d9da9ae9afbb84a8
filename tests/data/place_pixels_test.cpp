#include "data/place_pixels.h"

#include "core/rng.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace lockring::data {
namespace {

TEST(Rotate, ByQuarterTurnsIsExact) {
  Rng rng(1, RngStream::test);
  std::vector<std::uint8_t> pixels(50), once(50), back(50);
  for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(rng.next_u32());
  rotate_pixels(pixels.data(), 5, 5, 2, Rotation(90), once.data());
  for (int y = 0; y < 5; ++y)
    for (int x = 0; x < 5; ++x)
      for (int c = 0; c < 2; ++c) EXPECT_EQ(once[(y * 5 + x) * 2 + c], pixels[((4 - x) * 5 + y) * 2 + c]);
  rotate_pixels(once.data(), 5, 5, 2, Rotation(-90), back.data());
  EXPECT_EQ(back, pixels);
  rotate_pixels(pixels.data(), 5, 5, 2, Rotation(), back.data());
  EXPECT_EQ(back, pixels);
}

TEST(Rotate, KeepsTheCentreAndLosesTheCorners) {
  std::vector<std::uint8_t> white(81, 255), turned(81);
  rotate_pixels(white.data(), 9, 9, 1, Rotation(45), turned.data());
  EXPECT_EQ(turned[40], 255);
  EXPECT_EQ(turned[0], 0);
  EXPECT_EQ(turned[80], 0);
}

// Pixel by pixel, as the definition says.
std::vector<std::uint8_t> placed(const std::vector<std::uint8_t>& pixels, int height, int width, int channels,
                                 const Placement& placement) {
  std::vector<std::uint8_t> rows(pixels.size());
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c) {
        const auto from_y = y + placement.down;
        const auto from_x = (placement.mirrored ? width - 1 - x : x) + placement.right;
        const bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
        rows[(y * width + x) * channels + c] =
            inside ? pixels[static_cast<std::size_t>((from_y * width + from_x) * channels + c)] : 0;
      }
  return rows;
}

// Whole words at a time, yet nothing beyond the image is read or written.
TEST(PlaceRows, EveryWidthAndNumberOfChannels) {
  Rng rng(2, RngStream::test);
  for (int channels = 1; channels <= 4; ++channels)
    for (int width = 1; width <= 19; ++width)
      for (const std::int64_t right : {0, 1, -2})
        for (const bool mirrored : {false, true}) {
          if (std::abs(right) >= width) continue;
          const Placement placement{.down = right, .right = right, .mirrored = mirrored};
          std::vector<std::uint8_t> pixels(static_cast<std::size_t>(3 * width * channels));
          for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(rng.next_u32());
          std::vector<std::uint8_t> found(pixels.size() + 8, 7);
          place_rows(pixels.data(), 3, width, channels, placement, 0, 3, found.data());
          std::vector<std::uint8_t> expected = placed(pixels, 3, width, channels, placement);
          expected.resize(found.size(), 7);
          EXPECT_EQ(found, expected) << width << " x " << channels << ", " << right << ", " << mirrored;
        }
}

}  // namespace
}  // namespace lockring::data
