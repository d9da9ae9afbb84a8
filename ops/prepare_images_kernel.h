// Batches made from images that lie on a GPU: each pixel is fetched, placed, scaled and perhaps erased in one pass.
#pragma once

#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

// Rows [top, bottom) and columns [left, right).
struct ErasedPart {
  std::int32_t top, bottom, left, right;
};

// How one image of the batch comes to be.
struct ImageDraw {
  std::uint32_t sample;      // of the set
  std::int32_t down, right;  // the output's first row and column are these of the input; beyond it there is byte 0
  std::int32_t mirrored;     // left to right, before the shift
  ErasedPart erased[2];      // these become 0
};

// Pixels u8 [n][height][width][channels], labels u8 [n]. A byte b becomes b * scale + shift, by channel; of `scales`, 1
// or `channels`, one stands for all.
struct ImageSet {
  const std::uint8_t* pixels;
  const std::uint8_t* labels;
  std::int64_t height, width, channels;
  const float* scale;
  const float* shift;
  std::int64_t scales;
};

using PrepareImagesFn = void(const ImageSet& set, const ImageDraw* draws, std::int64_t count, float* images,
                             std::int32_t* labels);
LOCKRING_DECLARE_KERNEL(PrepareImagesFn, prepare_images)

}  // namespace lockring
