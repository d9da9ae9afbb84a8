#include "data/encode_png.h"

#include "tests/data/small_images.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

namespace lockring::data {
namespace {

TEST(EncodePng, IsReadBackAsItWas) {
  for (const std::int64_t channels : {1, 3}) {
    Tensor image = Tensor::empty({7, 5, channels}, DType::u8);
    std::uint8_t value = 0;
    for (std::uint8_t& pixel : image.values<std::uint8_t>()) pixel = value += 37;
    const DecodedImage decoded = decode(encode_png(image));
    EXPECT_EQ(decoded.height, 7);
    EXPECT_EQ(decoded.width, 5);
    EXPECT_EQ(decoded.channels, channels);
    EXPECT_TRUE(std::ranges::equal(decoded.pixels, image.values<std::uint8_t>()));
  }
}

TEST(EncodePng, RejectsWhatIsNoImage) {
  for (const Shape& shape : {Shape{4, 4}, Shape{4, 4, 2}, Shape{0, 4, 1}, Shape{1, 4, 4, 1}})
    expect_error(ErrorCode::usage, "PNG image: expected u8", [&] { encode_png(Tensor::zeros(shape, DType::u8)); });
  expect_error(ErrorCode::usage, "found F32 [4, 4, 1]", [] { encode_png(Tensor::zeros({4, 4, 1})); });
}

}  // namespace
}  // namespace lockring::data
