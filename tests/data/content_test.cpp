#include "data/content.h"

#include <gtest/gtest.h>

namespace lockring::data {
namespace {

TEST(AsImages, GivesOneChannelToImagesWithoutAny) {
  const Tensor grey = Tensor::zeros({4, 3, 2}, DType::u8);
  EXPECT_EQ(as_images(grey).shape(), (Shape{4, 3, 2, 1}));
  EXPECT_EQ(as_images(grey).raw(), grey.raw());
  EXPECT_EQ(as_images(Tensor::zeros({4, 3, 2, 3}, DType::u8)).shape(), (Shape{4, 3, 2, 3}));
}

TEST(CountLabels, CountsEveryClass) {
  const std::vector<std::uint8_t> labels = {2, 0, 2, 255};
  const auto counts = count_labels(Tensor::from(std::span<const std::uint8_t>(labels), {4}), 256);
  ASSERT_EQ(counts.size(), 256u);
  EXPECT_EQ(counts[0], 1);
  EXPECT_EQ(counts[1], 0);
  EXPECT_EQ(counts[2], 2);
  EXPECT_EQ(counts[255], 1);
}

}  // namespace
}  // namespace lockring::data
