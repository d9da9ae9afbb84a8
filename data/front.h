// The part of a transform that is the same for a sample every time: what is cached is its result.
#pragma once

#include "core/tensor.h"
#include "data/image_file.h"

#include <cstdint>
#include <string>

namespace lockring::data {

struct Front {
  std::int64_t height = 0;  // of resize; 0 leaves the size as it is
  std::int64_t width = 0;
  bool grayscale = false;

  // Whether images stay as they are.
  bool empty() const { return height == 0 && !grayscale; }
  // What images [h, w, c] become.
  Shape output_shape(const Shape& image) const;
  // u8 [h, w, c]. Any thread.
  Tensor apply(const DecodedImage& image) const;

  bool operator==(const Front&) const = default;
};

// As a transform's spec has it: "resize:32x32,grayscale".
std::string to_string(const Front& front);

}  // namespace lockring::data
