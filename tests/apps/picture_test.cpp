#include "apps/picture.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace lockring::app {
namespace {

using Lines = std::vector<std::string>;

Tensor image_of(std::vector<std::uint8_t> pixels, const Shape& shape) {
  return Tensor::from(std::span<const std::uint8_t>(pixels), shape);
}

TEST(ImageLines, BlocksShowTwoPixelsEach) {
  const Tensor image = image_of({0, 255, 0, 255, 128,  //
                                 0, 0, 255, 255, 128},
                                {2, 5, 1});
  EXPECT_EQ(image_lines(image, 5, true), Lines{" ▀▄█▒"});
  EXPECT_EQ(image_lines(image, 5, false), Lines{" \"_@="});
}

TEST(ImageLines, ShadesAreOrdered) {
  const Tensor image = image_of({0, 64, 128, 192, 255, 0, 64, 128, 192, 255}, {2, 5, 1});
  EXPECT_EQ(image_lines(image, 5, true), Lines{" ░▒▓█"});
}

TEST(ImageLines, ScalesByTheMeanOfWhatIsCovered) {
  // One character for 4 x 2 pixels whose upper half has a mean of 255, its lower half one of 127.5.
  const Tensor image = image_of({255, 255, 255, 255, 255, 0, 0, 255}, {4, 2, 1});
  EXPECT_EQ(image_lines(image, 1, true), Lines{"▓"});
  EXPECT_EQ(image_lines(image_of({255, 255, 255, 255, 0, 0, 0, 0}, {4, 2, 1}), 1, true), Lines{"▀"});
  // Enlarged: each pixel becomes two characters.
  EXPECT_EQ(image_lines(image_of({255, 0}, {1, 2, 1}), 4, true), Lines{"██  "});
}

TEST(ImageLines, KeepsTheProportions) {
  const Tensor image = Tensor::zeros({28, 28, 1}, DType::u8);
  EXPECT_EQ(image_lines(image, 28, true), Lines(14, std::string(28, ' ')));
  EXPECT_EQ(image_lines(image, 24, true), Lines(12, std::string(24, ' ')));
  EXPECT_EQ(image_lines(Tensor::zeros({1, 20, 1}, DType::u8), 20, true), Lines(1, std::string(20, ' ')));
}

TEST(ImageLines, AveragesChannels) {
  const Tensor image = image_of({255, 128, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255}, {2, 2, 3});
  EXPECT_EQ(image_lines(image, 2, true), Lines{"▓▄"});
}

TEST(PictureRows, StandSideBySideUnderTheirCaptions) {
  const Tensor light = image_of({255, 255, 255, 255, 255, 255, 255, 255}, {2, 4, 1});
  const Tensor half = image_of({255, 255, 0, 0, 255, 255, 0, 0}, {2, 4, 1});
  const std::vector<Picture> pictures = {
      {half, {"größe", "b"}}, {light, {std::string(30, 'x'), ""}}, {half, {"", "c"}}};
  const std::string x = std::string(24, 'x'), full = std::string(24, '@'), left = std::string(12, '@');
  const auto six_times = [](const std::string& line) { return line + line + line + line + line + line; };
  const std::string gap(3, ' ');
  EXPECT_EQ(picture_rows(pictures, 60, false), "größe" + std::string(19, ' ') + gap + x + "\nb\n" +
                                                   six_times(left + std::string(12, ' ') + gap + full + "\n") +
                                                   "\n\nc\n" + six_times(left + "\n") + "\n");
  EXPECT_EQ(picture_rows({}, 80, true), "");
}

TEST(PictureRows, TakesAsManyAsFit) {
  const Tensor dark = Tensor::zeros({2, 2, 1}, DType::u8);
  const std::vector<Picture> pictures(3, Picture{dark, {"caption"}});
  const auto captions_in_first_line = [&](int width) {
    const std::string text = picture_rows(pictures, width, true);
    const std::string line = text.substr(0, text.find('\n'));
    int count = 0;
    for (std::size_t at = line.find("caption"); at != std::string::npos; at = line.find("caption", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(captions_in_first_line(1), 1);
  EXPECT_EQ(captions_in_first_line(50), 1);
  EXPECT_EQ(captions_in_first_line(51), 2);
  EXPECT_EQ(captions_in_first_line(77), 2);
  EXPECT_EQ(captions_in_first_line(78), 3);
}

}  // namespace
}  // namespace lockring::app
