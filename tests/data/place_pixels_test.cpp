#include "data/place_pixels.h"

#include "core/rng.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace lockring::data
