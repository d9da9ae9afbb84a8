#include "data/encode_png.h"

#include "core/error.h"

#include <png.h>

namespace lockring::data {

std::string encode_png(const Tensor& image) {
  const Shape& shape = image.shape();
  const bool fits = shape.rank() == 3 && image.dtype() == DType::u8 && shape.elements() > 0 &&
                    (shape[2] == 1 || shape[2] == 3) && shape[0] <= PNG_UINT_31_MAX && shape[1] <= PNG_UINT_31_MAX / 3;
  check(fits, "PNG image: expected u8 [height, width, 1 or 3], found {} {}", name_of(image.dtype()), shape);
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.height = static_cast<png_uint_32>(shape[0]);
  header.width = static_cast<png_uint_32>(shape[1]);
  header.format = shape[2] == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  header.flags = PNG_IMAGE_FLAG_FAST;  // a third of the time for a tenth more bytes
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(header);
  std::string file(bytes, '\0');
  const bool done = png_image_write_to_memory(&header, file.data(), &bytes, 0, image.raw(), 0, nullptr) != 0;
  check(done, ErrorCode::other, "cannot make a PNG image: {}", header.message);
  file.resize(bytes);
  return file;
}

}  // namespace lockring::data
