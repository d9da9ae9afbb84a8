#include "data/fronted_images.h"

#include "data/read_images.h"
#include "tests/data/numbered_images.h"
#include "tests/data/small_files.h"
#include "tests/data/small_images.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

namespace lockring::data {
namespace {

DecodedImage decoded(const ImageStore& images, std::int64_t index) {
  const Tensor pixels = images.copy(index, index + 1);
  const std::span values = pixels.values<std::uint8_t>();
  return {pixels.size(1), pixels.size(2), pixels.size(3), {values.begin(), values.end()}};
}

TEST(FrontedImagesTest, AreWhatTheFrontMakes) {
  const auto images = std::make_shared<NumberedImages>(6, Shape{5, 7, 3});
  for (const auto& stored : {std::shared_ptr<const ImageStore>(images), hold_images(*images).images}) {
    const Front front{.height = 4, .width = 3, .grayscale = true};
    const auto fronted = with_front(stored, front);
    EXPECT_EQ(fronted->shape(), (Shape{6, 4, 3, 1}));
    EXPECT_EQ(fronted->access(), Access::computed);
    for (std::int64_t i = 0; i < 6; ++i) {
      const Tensor wanted = front.apply(decoded(*images, i));
      const Tensor found = fronted->copy(i, i + 1);
      EXPECT_TRUE(std::ranges::equal(found.values<std::uint8_t>(), wanted.values<std::uint8_t>())) << i;
    }
  }
}

TEST(FrontedImagesTest, ImagesOfManySizesBecomeOne) {
  const TemporaryDirectory folder;
  std::string tar;
  std::vector<DecodedImage> images;
  for (const std::uint32_t side : {3u, 9u, 4u}) {
    const std::string file =
        png_file({.width = side, .height = side + 1, .palette = {}}, std::string(side * (side + 1), '\x40'));
    tar += tar_header("class", fmt::format("{}.png", side), std::ssize(file)) + file;
    tar.append(static_cast<std::size_t>(tar_padding(std::ssize(file))), '\0');
    images.push_back(decode(file));
  }
  write(folder / "a.tar", tar + std::string(static_cast<std::size_t>(kTarEnd), '\0'));
  const auto encoded = std::make_shared<EncodedImages>(folder / "a.tar", 1);
  const Front front{.height = 5, .width = 5};
  const auto fronted = with_front(encoded, front);
  ASSERT_EQ(fronted->shape(), (Shape{3, 5, 5, 1}));
  for (std::int64_t i = 0; i < 3; ++i) {
    const Tensor wanted = front.apply(images[static_cast<std::size_t>(i)]);
    const Tensor found = fronted->copy(i, i + 1);
    EXPECT_TRUE(std::ranges::equal(found.values<std::uint8_t>(), wanted.values<std::uint8_t>())) << i;
  }
  expect_error(ErrorCode::usage, "expected resize:SIZE", [&] { with_front(encoded, {.grayscale = true}); });
}

}  // namespace
}  // namespace lockring::data
