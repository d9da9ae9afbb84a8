// PNG and JPEG images. Checksums of PNG chunks are put right first, or no mutation would get beyond them.
#include "data/image_file.h"

#include "tests/fuzz/fuzz.h"

#include <zlib.h>

#include <vector>

namespace lockring::fuzz {
namespace {

// Larger images are refused, so that one input takes little time.
constexpr std::int64_t kMostPixels = 1 << 16;
constexpr std::size_t kPngStart = 8;

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

// A chunk: length, type, that many bytes, CRC of type and bytes.
void mend_checksums(std::vector<std::uint8_t>& file) {
  std::size_t at = kPngStart;
  while (at + 12 <= file.size()) {
    const std::size_t length = big_endian(&file[at]);
    if (length > file.size() - at - 12) return;
    const uLong crc = crc32(0, &file[at + 4], static_cast<uInt>(length + 4));
    for (std::size_t i = 0; i < 4; ++i) file[at + 8 + length + i] = static_cast<std::uint8_t>(crc >> (24 - 8 * i));
    at += 12 + length;
  }
}

void read(std::span<const std::byte> file) {
  const data::ImageHeader header = data::read_image_header(file, kMostPixels);
  const data::DecodedImage image = data::decode_image(file, kMostPixels);
  expect(header.height == image.height && header.width == image.width, "the header tells the size");
  expect(image.channels == 1 || image.channels == 3, "images are grey or coloured");
  expect(static_cast<std::int64_t>(image.pixels.size()) == image.height * image.width * image.channels,
         "there is a value for each pixel and channel");
  data::fit_image(image, 8, 9, 3);
}

}  // namespace
}  // namespace lockring::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace lockring;
  std::vector<std::uint8_t> file(bytes, bytes + size);
  if (!file.empty() && file[0] == 0x89) fuzz::mend_checksums(file);
  fuzz::read_or_refuse(ErrorCode::data, [&] { fuzz::read(std::as_bytes(std::span(file))); });
  return 0;
}
