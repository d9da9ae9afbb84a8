// PNG and JPEG files in memory, written by libpng and libjpeg.
#pragma once

#include "data/image_file.h"

#include <array>
#include <cstdint>

#include <string>
#include <vector>

namespace lockring::data {

struct PngOptions {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  int bit_depth = 8;
  int colour_type = 0;  // PNG_COLOR_TYPE_...
  bool interlaced = false;
  // Red, green, blue and alpha of each entry.
  std::vector<std::array<std::uint8_t, 4>> palette;
};
// `packed` holds the rows as PNG stores them: 16 bits big-endian, less than 8 packed, each row starting a byte.
std::string png_file(const PngOptions& options, const std::string& packed);

struct JpegOptions {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  int components = 3;  // 1 grey, 3 red green blue, 4 print colours
  bool progressive = false;
};
std::string jpeg_file(const JpegOptions& options, const std::string& pixels);

DecodedImage decode(const std::string& file, std::int64_t most_pixels = kMostPixels);

}  // namespace lockring::data
