#include "data/image_file.h"

#include "core/error.h"
#include "core/files.h"
#include "data/byte_reader.h"
#include "data/decode.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace lockring::data {
namespace {

constexpr std::string_view kPngStart = "\x89PNG\r\n\x1a\n";
constexpr std::string_view kJpegStart = "\xff\xd8\xff";

bool starts_with(std::span<const std::byte> file, std::string_view start) {
  return file.size() >= start.size() && std::memcmp(file.data(), start.data(), start.size()) == 0;
}

// By the first bytes; names lie. What is not PNG is JPEG, or an error.
bool is_png(std::span<const std::byte> file) {
  if (starts_with(file, kPngStart)) return true;
  check(starts_with(file, kJpegStart), ErrorCode::data, "expected a PNG or JPEG image, found {}",
        describe_content(file.first(std::min<std::size_t>(file.size(), 32))));
  return false;
}

}  // namespace

void check_image_size(std::int64_t height, std::int64_t width, std::int64_t most_pixels) {
  check(height > 0 && width > 0 && height <= most_pixels / width, ErrorCode::data,
        "image size: expected 1 to {} pixels, found {}x{}", most_pixels, width, height);
}

DecodedImage decode_image(std::span<const std::byte> file, std::int64_t most_pixels) {
  return is_png(file) ? decode_png(file, most_pixels) : decode_jpeg(file, most_pixels);
}

ImageHeader read_image_header(std::span<const std::byte> file, std::int64_t most_pixels) {
  return is_png(file) ? read_png_header(file, most_pixels) : read_jpeg_header(file, most_pixels);
}

DecodedImage read_image(const std::filesystem::path& path) {
  const std::string file = read_file(path);
  try {
    return decode_image(std::as_bytes(std::span(file)));
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", path.string(), error.what());
  }
}

}  // namespace lockring::data
