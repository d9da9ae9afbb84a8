// What a model computes on at once.
#pragma once

#include "core/tensor.h"

namespace lockring::data {

// Slices share memory with their batch.
struct Batch {
  Tensor images;  // f32 [n, h, w, c]
  Tensor labels;  // i32 [n]
  // With mixup, else undefined: an image is `weights` parts of its own and the rest of its partner's.
  Tensor partner_labels;  // i32 [n]
  Tensor weights;         // f32 [n], within [0, 1]

  // Uninitialised, for `n` images of a size [h, w, c].
  static Batch empty(const Shape& image, std::int64_t n, bool mixed);
  std::int64_t size() const { return labels.size(0); }
  Batch slice(std::int64_t begin, std::int64_t end) const;
};

}  // namespace lockring::data
