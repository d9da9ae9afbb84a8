#include "apps/png.h"

#include "data/image_file.h"

#include <gtest/gtest.h>

namespace lockring::app {
namespace {

class PngFileTest : public testing::TestWithParam<Shape> {};

TEST_P(PngFileTest, HoldsThePixels) {
  Tensor image = Tensor::empty(GetParam(), DType::u8);
  for (std::int64_t i = 0; i < image.elements(); ++i) image.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 7);
  const std::string file = png_file(image);
  const data::DecodedImage decoded = data::decode_image(std::as_bytes(std::span(file)));
  EXPECT_EQ(decoded.height, image.size(0));
  EXPECT_EQ(decoded.width, image.size(1));
  EXPECT_EQ(decoded.channels, image.size(2));
  EXPECT_TRUE(std::ranges::equal(decoded.pixels, std::as_const(image).values<std::uint8_t>()));
}

INSTANTIATE_TEST_SUITE_P(, PngFileTest,
                         testing::Values(Shape{1, 1, 1}, Shape{3, 5, 1}, Shape{7, 2, 3}, Shape{200, 301, 3}));

}  // namespace
}  // namespace lockring::app
