#include "apps/train/mistakes.h"

#include "data/image_file.h"
#include "tests/apps/small_training.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockring::app {
namespace {

class MistakesPanelTest : public testing::Test {
 protected:
  MistakesPanelTest() {
    for (std::uint32_t sample = 10; sample < 70; ++sample) {
      samples_.push_back(sample);
      evaluation_.predictions.push_back(split_.labels.data<std::uint8_t>()[sample]);
    }
  }
  void mistake(std::size_t at) { evaluation_.predictions[at] = (evaluation_.predictions[at] + 1) % 10; }
  std::optional<PngImage> panel() const { return mistakes_panel(split_, samples_, evaluation_, classes_); }
  data::DecodedImage pixels() const {
    const std::string file = panel()->bytes;
    return data::decode_image(std::as_bytes(std::span(file)));
  }

  const data::Split split_ = learnable_split(80, 1);
  const std::vector<std::string> classes_ = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "a name that is too long"};
  std::vector<std::uint32_t> samples_;
  Evaluation evaluation_;
};

TEST_F(MistakesPanelTest, WithoutMistakesThereIsNone) {
  EXPECT_FALSE(panel().has_value());
  evaluation_.predictions[3] = -1;
  EXPECT_FALSE(panel().has_value()) << "a score that is no number is no class";
}

TEST_F(MistakesPanelTest, GrowsByRowsUpToTwentyImages) {
  mistake(5);
  const std::int64_t one_row = panel()->height;
  for (std::size_t i = 0; i < 4; ++i) mistake(10 + i);
  const std::int64_t two_rows = panel()->height;
  EXPECT_GT(two_rows, one_row);
  for (std::size_t i = 0; i < 60; ++i)
    evaluation_.predictions[i] = (split_.labels.data<std::uint8_t>()[samples_[i]] + 1) % 10;
  EXPECT_EQ(panel()->height, one_row + 4 * (two_rows - one_row));
  EXPECT_EQ(panel()->channels, 3);
  EXPECT_EQ(pixels().height, panel()->height);
  EXPECT_EQ(pixels().width, panel()->width);
}

TEST_F(MistakesPanelTest, ShowsTheImage) {
  mistake(7);
  const data::DecodedImage panel = pixels();
  // The bright bar of the image is somewhere in the first tile.
  const Tensor image = split_.images->copy(samples_[7], samples_[7] + 1);
  const std::uint8_t brightest = std::ranges::max(image.values<std::uint8_t>());
  EXPECT_EQ(std::ranges::count(panel.pixels, brightest) % 3, 0);
  EXPECT_GE(std::ranges::count(panel.pixels, brightest), 3);
}

}  // namespace
}  // namespace lockring::app
