#pragma once

#include "core/cuda/host_device.h"
#include "ops/prepare_images_kernel.h"

#include <cstdint>

namespace lockring::kernels::cuda {

// Index ((image * height + y) * width + x) * channels + channel.
struct PrepareImages {
  ImageSet set;
  const ImageDraw* draws;
  float* images;

  LOCKRING_HOST_DEVICE static bool holds(const ErasedPart& part, std::int64_t y, std::int64_t x) {
    return y >= part.top && y < part.bottom && x >= part.left && x < part.right;
  }
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t channel = i % set.channels;
    const std::int64_t x = i / set.channels % set.width;
    const std::int64_t y = i / (set.channels * set.width) % set.height;
    const ImageDraw& draw = draws[i / (set.channels * set.width * set.height)];
    if (holds(draw.erased[0], y, x) || holds(draw.erased[1], y, x)) {
      images[i] = 0;
      return;
    }
    const std::int64_t row = y + draw.down;
    const std::int64_t column = (draw.mirrored != 0 ? set.width - 1 - x : x) + draw.right;
    const bool inside = row >= 0 && row < set.height && column >= 0 && column < set.width;
    const std::int64_t from = ((draw.sample * set.height + row) * set.width + column) * set.channels + channel;
    const float pixel = inside ? static_cast<float>(set.pixels[from]) : 0;
    const std::int64_t which = set.scales == 1 ? 0 : channel;
    images[i] = pixel * set.scale[which] + set.shift[which];
  }
};

// One index an image.
struct PrepareLabels {
  const std::uint8_t* of_set;
  const ImageDraw* draws;
  std::int32_t* labels;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const { labels[i] = of_set[draws[i].sample]; }
};

}  // namespace lockring::kernels::cuda
