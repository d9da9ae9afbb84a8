// What batches of a resident data set are is in tests/apps/train_resident_data_test.cpp, beside the CPU's way.
#include "ops/prepare_images.h"

#include "core/devices.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

namespace lockring::ops {
namespace {

ResidentImages set_of(std::int64_t count, std::int64_t channels, std::int64_t scales, Device device) {
  return {.pixels = Tensor::zeros({count, 3, 4, channels}, DType::u8, device),
          .labels = Tensor::zeros({count}, DType::u8, device),
          .scale = Tensor::full({scales}, 1, device),
          .shift = Tensor::full({scales}, 0, device)};
}

Tensor draws_of(std::int64_t count) {
  return Tensor::zeros({count, static_cast<std::int64_t>(sizeof(ImageDraw))}, DType::u8);
}

TEST(PrepareImages, RefusesWhatDoesNotFit) {
  Tensor images = Tensor::zeros({2, 3, 4, 2});
  Tensor labels = Tensor::zeros({2}, DType::i32);
  const auto refuses = [&](const ResidentImages& set, const Tensor& draws, const char* part) {
    expect_error(ErrorCode::usage, part, [&] { prepare_images(set, draws, images, labels); });
  };
  refuses(set_of(5, 2, 3, {}), draws_of(2), "3 scales and 3 shifts do not fit 2 channels");
  refuses(set_of(5, 2, 1, {}), Tensor::zeros({2, 7}, DType::u8), "draws of shape");
  refuses(set_of(5, 1, 1, {}), draws_of(2), "are not those of 2 draws");
  refuses(set_of(5, 2, 2, {}), draws_of(3), "are not those of 3 draws");
}

TEST(PrepareImages, IsForGpus) {
  Tensor images = Tensor::zeros({2, 3, 4, 2});
  Tensor labels = Tensor::zeros({2}, DType::i32);
  expect_error(ErrorCode::device, "prepare_images has no kernel for device cpu",
               [&] { prepare_images(set_of(5, 2, 2, {}), draws_of(2), images, labels); });
}

}  // namespace
}  // namespace lockring::ops
