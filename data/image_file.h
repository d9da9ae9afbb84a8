// PNG and JPEG files, and how they become the input of a model.
//
// Files are not trusted: sizes are limited before memory is taken, and whatever is wrong with one is an Error{data}.
#pragma once

#include "core/tensor.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace lockring::data {

struct DecodedImage {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;         // 1 (grey) or 3 (red, green, blue)
  std::vector<std::uint8_t> pixels;  // [height][width][channels]
};

struct ImageHeader {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;  // as DecodedImage has it
};

inline constexpr std::int64_t kMostPixels = std::int64_t{64} << 20;

// Any colour type and bit depth of PNG and JPEG; 16 bits become 8. What is transparent is laid on white, as a page
// would show it. Orientation tags are not followed. Throws Error{data} on anything else than a whole, undamaged image
// of at most `most_pixels`. Any thread.
DecodedImage decode_image(std::span<const std::byte> file, std::int64_t most_pixels = kMostPixels);
// What the image will be, from the first bytes of its file; as many as hold the header are enough.
ImageHeader read_image_header(std::span<const std::byte> file, std::int64_t most_pixels = kMostPixels);
// decode_image for a file, named in the message.
DecodedImage read_image(const std::filesystem::path& path);

// One channel is made of three by the luma of ITU-R BT.601, three of one by repetition.
DecodedImage with_channels(DecodedImage image, std::int64_t channels);
// Scales to fit into u8 [height, width, channels of the image], keeping the aspect, centred on black: each pixel the
// mean of the area it covers where the image shrinks, bilinear where it grows, unchanged where it fits.
Tensor scale_to_fit(const DecodedImage& image, std::int64_t height, std::int64_t width);

struct ModelImage {
  Tensor pixels;          // u8 [height, width, channels]
  bool inverted = false;  // the original was dark on light
};

// Scales to fit after making the channels. With light_on_dark, a light ground is inverted if the model takes one
// channel, since the data sets that come with one show light things on black: the ground is light if the mean of the
// outermost pixels is above 127 (true for none of the Fashion-MNIST test images, and for all of them inverted).
ModelImage fit_image(const DecodedImage& image, std::int64_t height, std::int64_t width, std::int64_t channels,
                     bool light_on_dark = true);

}  // namespace lockring::data
