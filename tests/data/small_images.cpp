#include "tests/data/small_images.h"

#include "core/error.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>
#include <png.h>

#include <array>

namespace lockring::data {
namespace {

void append(png_structp png, png_bytep bytes, std::size_t count) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(bytes), count);
}

void set_palette(png_structp png, png_infop info, const PngOptions& options) {
  std::vector<png_color> colours;
  std::vector<png_byte> alphas;
  for (const auto& [red, green, blue, alpha] : options.palette) {
    colours.push_back({red, green, blue});
    alphas.push_back(alpha);
  }
  png_set_PLTE(png, info, colours.data(), static_cast<int>(colours.size()));
  png_set_tRNS(png, info, alphas.data(), static_cast<int>(alphas.size()), nullptr);
}

}  // namespace

std::string png_file(const PngOptions& options, const std::string& packed) {
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &file, append, [](png_structp) {});
  png_set_IHDR(png, info, options.width, options.height, options.bit_depth, options.colour_type,
               options.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (!options.palette.empty()) set_palette(png, info, options);
  png_write_info(png, info);
  const std::size_t row_bytes = png_get_rowbytes(png, info);
  check(packed.size() == row_bytes * options.height, "{} bytes for rows of {}", packed.size(), row_bytes);
  std::vector<png_bytep> rows;
  for (std::size_t y = 0; y < options.height; ++y)
    rows.push_back(reinterpret_cast<png_bytep>(const_cast<char*>(packed.data())) + y * row_bytes);
  png_write_image(png, rows.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

std::string jpeg_file(const JpegOptions& options, const std::string& pixels) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &memory, &size);
  jpeg.image_width = options.width;
  jpeg.image_height = options.height;
  jpeg.input_components = options.components;
  jpeg.in_color_space = options.components == 1 ? JCS_GRAYSCALE : options.components == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 95, TRUE);
  if (options.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  const std::size_t row_bytes = std::size_t{options.width} * static_cast<std::size_t>(options.components);
  check(pixels.size() == row_bytes * options.height, "{} bytes for rows of {}", pixels.size(), row_bytes);
  for (std::size_t y = 0; y < options.height; ++y) {
    JSAMPROW row = reinterpret_cast<JSAMPROW>(const_cast<char*>(pixels.data())) + y * row_bytes;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string file(reinterpret_cast<const char*>(memory), size);
  jpeg_destroy_compress(&jpeg);
  std::free(memory);
  return file;
}

DecodedImage decode(const std::string& file, std::int64_t most_pixels) {
  return decode_image(std::as_bytes(std::span(file)), most_pixels);
}

}  // namespace lockring::data
