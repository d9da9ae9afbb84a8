// The decoders behind decode_image and read_image_header (image_file.h), one per format.
#pragma once

#include "data/image_file.h"

namespace lockring::data {

DecodedImage decode_png(std::span<const std::byte> file, std::int64_t most_pixels);
DecodedImage decode_jpeg(std::span<const std::byte> file, std::int64_t most_pixels);
ImageHeader read_png_header(std::span<const std::byte> file, std::int64_t most_pixels);
ImageHeader read_jpeg_header(std::span<const std::byte> file, std::int64_t most_pixels);

// Throws Error{data} unless the stated size is at least one pixel and at most `most_pixels`.
void check_image_size(std::int64_t height, std::int64_t width, std::int64_t most_pixels);

}  // namespace lockring::data
