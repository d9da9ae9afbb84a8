#include "tests/data/small_folders.h"

#include "tests/data/small_files.h"
#include "tests/data/small_images.h"

#include <png.h>

namespace lockring::data {

std::string plain_png(std::uint32_t width, std::uint32_t height, std::uint8_t value, int channels) {
  PngOptions options;
  options.width = width;
  options.height = height;
  options.colour_type = channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB;
  return png_file(
      options, std::string(std::size_t{width} * height * static_cast<std::size_t>(channels), static_cast<char>(value)));
}

void write_images(const std::filesystem::path& folder, int count, std::uint8_t first, std::uint32_t width,
                  std::uint32_t height) {
  std::filesystem::create_directories(folder);
  for (int i = 0; i < count; ++i)
    write(folder / fmt::format("{}.png", i), plain_png(width, height, static_cast<std::uint8_t>(first + 10 * i)));
}

}  // namespace lockring::data
