#include "core/rng.h"
#include "data/idx.h"
#include "data/image_file.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockring::data {
namespace {

DecodedImage plain(std::int64_t height, std::int64_t width, std::int64_t channels, std::uint8_t value) {
  return {height, width, channels,
          std::vector<std::uint8_t>(static_cast<std::size_t>(height * width * channels), value)};
}

std::vector<int> pixels_of(const ModelImage& image) {
  const auto pixels = image.pixels.values<std::uint8_t>();
  return {pixels.begin(), pixels.end()};
}

TEST(FitImage, SameSizeIsUnchanged) {
  DecodedImage image = plain(28, 28, 1, 0);
  Rng rng(1, RngStream::test);
  for (std::uint8_t& pixel : image.pixels) pixel = static_cast<std::uint8_t>(rng.below(100));
  const ModelImage fitted = fit_image(image, 28, 28, 1);
  EXPECT_FALSE(fitted.inverted);
  EXPECT_EQ(fitted.pixels.shape(), (Shape{28, 28, 1}));
  EXPECT_TRUE(std::ranges::equal(fitted.pixels.values<std::uint8_t>(), image.pixels));
}

TEST(FitImage, ShrinkingTakesTheMeanOfTheArea) {
  EXPECT_EQ(pixels_of(fit_image({2, 4, 1, {0, 10, 0, 20, 20, 10, 40, 60}}, 1, 2, 1)), (std::vector<int>{10, 30}));
  // Three to two: whole pixels and a half of the middle one.
  EXPECT_EQ(pixels_of(fit_image({1, 3, 1, {30, 60, 0}}, 1, 2, 1)), (std::vector<int>{40, 20}));
  const ModelImage large = fit_image(plain(1000, 777, 3, 77), 20, 20, 3);
  EXPECT_EQ(std::ranges::count(large.pixels.values<std::uint8_t>(), 77), 20 * 16 * 3);
}

TEST(FitImage, GrowingIsLinear) {
  EXPECT_EQ(pixels_of(fit_image({1, 2, 1, {0, 80}}, 2, 4, 1)), (std::vector<int>{0, 20, 60, 80, 0, 20, 60, 80}));
  EXPECT_EQ(pixels_of(fit_image({1, 1, 1, {9}}, 2, 2, 1)), std::vector<int>(4, 9));
}

TEST(FitImage, KeepsTheAspectCentredOnBlack) {
  const ModelImage wide = fit_image(plain(2, 4, 1, 50), 4, 4, 1);
  EXPECT_EQ(pixels_of(wide), (std::vector<int>{0, 0, 0, 0, 50, 50, 50, 50, 50, 50, 50, 50, 0, 0, 0, 0}));
  const ModelImage tall = fit_image(plain(30000, 1, 1, 50), 4, 4, 1);
  EXPECT_EQ(pixels_of(tall), (std::vector<int>{0, 50, 0, 0, 0, 50, 0, 0, 0, 50, 0, 0, 0, 50, 0, 0}));
}

TEST(FitImage, LumaOfColours) {
  EXPECT_EQ(pixels_of(fit_image({1, 3, 3, {255, 0, 0, 0, 100, 0, 0, 0, 255}}, 1, 3, 1)),
            (std::vector<int>{76, 59, 29}));
  EXPECT_EQ(pixels_of(fit_image({1, 2, 1, {7, 8}}, 1, 2, 3)), (std::vector<int>{7, 7, 7, 8, 8, 8}));
  for (int value = 0; value < 128; ++value)
    EXPECT_EQ(pixels_of(fit_image(plain(1, 1, 3, static_cast<std::uint8_t>(value)), 1, 1, 1))[0], value);
}

TEST(FitImage, ALightGroundIsInvertedAndPaddedBlack) {
  DecodedImage image = plain(3, 5, 1, 255);
  image.pixels[7] = 55;
  const ModelImage fitted = fit_image(image, 5, 5, 1);
  EXPECT_TRUE(fitted.inverted);
  std::vector<int> expected(25);
  expected[12] = 200;
  EXPECT_EQ(pixels_of(fitted), expected);
  EXPECT_FALSE(fit_image(plain(3, 5, 3, 255), 5, 5, 3).inverted);
}

// The published test images are left as they are, and inverted ones are recognised.
TEST(FitImage, ToldGroundOfFashionMnist) {
  const Tensor images = read_idx("/usr/share/datasets/fashion-mnist/t10k-images-idx3-ubyte.gz");
  for (std::int64_t i = 0; i < 2000; ++i) {
    const auto original = images.slice(i, i + 1).values<std::uint8_t>();
    DecodedImage image{28, 28, 1, {original.begin(), original.end()}};
    ASSERT_FALSE(fit_image(image, 28, 28, 1).inverted) << i;
    for (std::uint8_t& pixel : image.pixels) pixel = static_cast<std::uint8_t>(255 - pixel);
    const ModelImage fitted = fit_image(image, 28, 28, 1);
    ASSERT_TRUE(fitted.inverted) << i;
    ASSERT_TRUE(std::ranges::equal(fitted.pixels.values<std::uint8_t>(), original)) << i;
  }
}

TEST(FitImage, RejectsSizesThatNoModelHas) {
  for (const auto& [height, width, channels] : {std::array{0, 4, 1}, std::array{4, -1, 1}, std::array{4, 4, 2}})
    expect_error(ErrorCode::usage, "model input", [&] { fit_image(plain(2, 2, 1, 0), height, width, channels); });
}

}  // namespace
}  // namespace lockring::data
