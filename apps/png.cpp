#include "apps/png.h"

#include "core/error.h"

#include <png.h>

namespace lockring::app {

std::string png_file(const Tensor& image) {
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.height = static_cast<png_uint_32>(image.size(0));
  header.width = static_cast<png_uint_32>(image.size(1));
  header.format = image.size(2) == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  const auto* pixels = image.data<std::uint8_t>();
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string file(bytes, '\0');
  const int ok = png_image_write_to_memory(&header, file.data(), &bytes, 0, pixels, 0, nullptr);
  check(ok != 0, ErrorCode::other, "cannot make a PNG image: {}", header.message);
  file.resize(bytes);
  return file;
}

}  // namespace lockring::app
