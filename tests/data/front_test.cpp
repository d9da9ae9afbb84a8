#include "data/front.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockring::data {
namespace {

DecodedImage colour(std::int64_t height, std::int64_t width) {
  DecodedImage image{height, width, 3, {}};
  for (std::int64_t i = 0; i < height * width; ++i)
    for (const std::uint8_t value : {200, 100, 50}) image.pixels.push_back(value);
  return image;
}

TEST(Front, EmptyLeavesImagesAsTheyAre) {
  const Front front;
  EXPECT_TRUE(front.empty());
  EXPECT_EQ(front.output_shape({4, 6, 3}), Shape({4, 6, 3}));
  const Tensor same = front.apply(colour(4, 6));
  EXPECT_TRUE(std::ranges::equal(same.values<std::uint8_t>(), colour(4, 6).pixels));
}

TEST(Front, ResizesOntoBlackKeepingTheAspect) {
  const Front front{4, 4, false};
  EXPECT_FALSE(front.empty());
  EXPECT_EQ(front.output_shape({4, 8, 3}), Shape({4, 4, 3}));
  const Tensor image = front.apply(colour(4, 8));
  const std::uint8_t* pixels = image.data<std::uint8_t>();
  for (std::int64_t y = 0; y < 4; ++y) EXPECT_EQ(pixels[y * 12], y == 0 || y == 3 ? 0 : 200);
}

TEST(Front, MakesOneChannelByLumaAndInvertsNothing) {
  const Front front{0, 0, true};
  const Tensor grey = front.apply(colour(2, 2));
  EXPECT_EQ(grey.shape(), Shape({2, 2, 1}));
  for (const std::uint8_t pixel : grey.values<std::uint8_t>())
    EXPECT_EQ(pixel, (299 * 200 + 587 * 100 + 114 * 50 + 500) / 1000);
  const Tensor light = front.apply({1, 1, 1, {250}});
  EXPECT_EQ(light.data<std::uint8_t>()[0], 250);
}

TEST(Front, IsWrittenAsASpecHasIt) {
  EXPECT_EQ(to_string(Front{}), "");
  EXPECT_EQ(to_string(Front{28, 32, true}), "resize:28x32,grayscale");
}

}  // namespace
}  // namespace lockring::data
