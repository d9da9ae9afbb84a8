// Images as PNG files.
#pragma once

#include "core/tensor.h"

#include <string>

namespace lockring::data {

// A PNG file of an image u8 [h, w, 1 (grey) or 3 (red, green, blue)]. Throws Error{usage} on another shape.
std::string encode_png(const Tensor& image);

}  // namespace lockring::data
