#include "ops/prepare_images.h"

#include "core/error.h"

namespace lockring::ops {
namespace {

constexpr Kernel<PrepareImagesFn> kPrepareImages{"prepare_images", nullptr,
                                                 LOCKRING_CUDA_KERNEL(kernels::cuda::prepare_images)};

}  // namespace

void prepare_images(const ResidentImages& set, const Tensor& draws, Tensor& images, Tensor& labels) {
  const std::int64_t count = draws.size(0);
  check(set.pixels.rank() == 4 && set.labels.shape() == Shape{set.pixels.size(0)},
        "prepare_images: labels {} do not fit images {}", set.labels.shape(), set.pixels.shape());
  check(draws.bytes() == count * static_cast<std::int64_t>(sizeof(ImageDraw)),
        "prepare_images: draws of shape {} are not of {} bytes each", draws.shape(), sizeof(ImageDraw));
  const std::int64_t channels = set.pixels.size(3);
  const std::int64_t scales = set.scale.elements();
  check((scales == 1 || scales == channels) && set.shift.elements() == scales,
        "prepare_images: {} scales and {} shifts do not fit {} channels", scales, set.shift.elements(), channels);
  check(images.shape() == set.pixels.shape().with_leading(count) && labels.shape() == Shape{count},
        "prepare_images: images {} and labels {} are not those of {} draws from {}", images.shape(), labels.shape(),
        count, set.pixels.shape());
  kPrepareImages.on(set.pixels.device())({.pixels = set.pixels.data<std::uint8_t>(),
                                          .labels = set.labels.data<std::uint8_t>(),
                                          .height = set.pixels.size(1),
                                          .width = set.pixels.size(2),
                                          .channels = channels,
                                          .scale = set.scale.data(),
                                          .shift = set.shift.data(),
                                          .scales = scales},
                                         static_cast<const ImageDraw*>(draws.raw()), count, images.data(),
                                         labels.data<std::int32_t>());
}

}  // namespace lockring::ops
