// PNG files, made (data/image_file.h reads them).
#pragma once

#include "core/tensor.h"

#include <string>

namespace lockring::app {

// The file of an image of bytes [height][width][1 or 3].
std::string png_file(const Tensor& image);

}  // namespace lockring::app
