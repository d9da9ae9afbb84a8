// Images drawn with characters.
#pragma once

#include "core/tensor.h"

#include <span>
#include <string>
#include <vector>

namespace lockring::app {

// An image of bytes [height][width][channels] as lines of `columns` characters, light where the image is light.
// Channels are averaged. A character stands for a part twice as high as wide: in UTF-8 a block or a shade, in ASCII one
// with more or less ink.
std::vector<std::string> image_lines(const Tensor& image, int columns, bool utf8);

struct Picture {
  Tensor image;
  std::vector<std::string> caption;  // as many lines in every picture, each cut to the picture's width
};

// Pictures of the same size under their captions, as many side by side as `width` columns hold.
std::string picture_rows(std::span<const Picture> pictures, int width, bool utf8);

}  // namespace lockring::app
