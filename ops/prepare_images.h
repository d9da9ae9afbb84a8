// A training batch from a data set that lies on a GPU. On the CPU data/transform.h does the same.
#pragma once

#include "core/tensor.h"
#include "ops/prepare_images_kernel.h"

#include <cstdint>

namespace lockring::ops {

struct ResidentImages {
  Tensor pixels;        // u8 [n, h, w, c]
  Tensor labels;        // u8 [n]
  Tensor scale, shift;  // f32 [1] or [c]
};

// What each of `count` draws makes, on the GPU that all lies on: `draws` u8 [count, sizeof(ImageDraw)], of samples that
// the set has; images f32 [count, h, w, c] and labels i32 [count]. Throws Error{usage} on other shapes, Error{device}
// on the CPU.
void prepare_images(const ResidentImages& set, const Tensor& draws, Tensor& images, Tensor& labels);

}  // namespace lockring::ops
