// The random part of a transform, of which every sample draws its own.
//
// What a sample becomes follows from (seed, epoch, sample) alone: neither batch nor thread nor rank changes it. Angles,
// sizes and weights are rounded to integers or floats before use, and pixels are computed in integers.
#pragma once

#include "core/shape.h"
#include "data/place_pixels.h"

#include <cstdint>

namespace lockring::data {

struct AugmentOptions {
  enum class Flip { none, random, alternate };

  std::int64_t crop = 0;  // pixels of padding
  Flip flip = Flip::none;
  double rotate = 0;             // degrees, at most, either way
  double erase_probability = 0;  // random erasing: of a rectangle of erase_least to erase_most of the image's area
  double erase_least = 0;
  double erase_most = 0;
  std::int64_t cutout = 0;  // pixels: the side of a square
  double mixup = 0;         // the alpha of Beta(alpha, alpha)

  // Whether pixels of bytes change, floats do, or any.
  bool places() const { return crop > 0 || flip != Flip::none || rotate > 0; }
  bool erases() const { return erase_probability > 0 || cutout > 0; }
  bool any() const { return places() || erases() || mixup > 0; }
};

// Rows [top, bottom) and columns [left, right).
struct Rectangle {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
};

// What one sample drew.
struct Augmentation {
  Placement placement;
  Rotation rotation;
  Rectangle erased;
  Rectangle cut;
};

// The key of a sample's draw.
struct SampleKey {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;
  std::uint32_t sample = 0;
};

// For an image of this size.
Augmentation draw_augmentation(const AugmentOptions& options, const SampleKey& key, std::int64_t height,
                               std::int64_t width);

// With whom a sample is mixed: a position below `batch`, and the weight of the sample itself.
struct Mix {
  std::int64_t partner = 0;
  float weight = 1;
};
Mix draw_mix(double alpha, const SampleKey& key, std::int64_t batch);

}  // namespace lockring::data
