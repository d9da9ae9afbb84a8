#include "data/image_file.h"

#include "tests/data/small_files.h"
#include "tests/data/small_images.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <png.h>
#include <sys/resource.h>
#include <zlib.h>

#include <cmath>
#include <optional>

namespace lockring::data {
namespace {

using Bytes = std::vector<std::uint8_t>;

void expect_bad(const std::string& file, std::string_view part) {
  expect_error(ErrorCode::data, part, [&] { decode(file); });
}

std::string counting(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(i * 5);
  return bytes;
}

Bytes to_bytes(const std::string& text) { return {text.begin(), text.end()}; }

TEST(Png, GreyAndColourComeBackExactly) {
  for (const bool interlaced : {false, true}) {
    const DecodedImage grey = decode(png_file({9, 7, 8, PNG_COLOR_TYPE_GRAY, interlaced, {}}, counting(63)));
    EXPECT_EQ(grey.height, 7);
    EXPECT_EQ(grey.width, 9);
    EXPECT_EQ(grey.channels, 1);
    EXPECT_EQ(grey.pixels, to_bytes(counting(63)));
    const DecodedImage colour = decode(png_file({4, 3, 8, PNG_COLOR_TYPE_RGB, interlaced, {}}, counting(36)));
    EXPECT_EQ(colour.channels, 3);
    EXPECT_EQ(colour.pixels, to_bytes(counting(36)));
  }
}

TEST(Png, EveryBitDepthBecomesEight) {
  EXPECT_EQ(decode(png_file({8, 1, 1, PNG_COLOR_TYPE_GRAY, false, {}}, "\xa5")).pixels,
            (Bytes{255, 0, 255, 0, 0, 255, 0, 255}));
  EXPECT_EQ(decode(png_file({4, 1, 2, PNG_COLOR_TYPE_GRAY, false, {}}, "\x1b")).pixels, (Bytes{0, 85, 170, 255}));
  EXPECT_EQ(decode(png_file({2, 1, 4, PNG_COLOR_TYPE_GRAY, false, {}}, "\x1f")).pixels, (Bytes{17, 255}));
  EXPECT_EQ(decode(png_file({2, 1, 16, PNG_COLOR_TYPE_GRAY, false, {}}, "\xff\xff\x80\x80")).pixels, (Bytes{255, 128}));
  EXPECT_EQ(decode(png_file({1, 1, 16, PNG_COLOR_TYPE_RGB, false, {}}, std::string("\xff\xff\x01\x01\0\0", 6))).pixels,
            (Bytes{255, 1, 0}));
}

TEST(Png, AlphaIsLaidOnWhite) {
  const DecodedImage colour =
      decode(png_file({3, 1, 8, PNG_COLOR_TYPE_RGB_ALPHA, false, {}}, std::string("\x0a\x14\x1e\xff"
                                                                                  "\x0a\x14\x1e\0"
                                                                                  "\0\0\0\x80",
                                                                                  12)));
  EXPECT_EQ(colour.channels, 3);
  EXPECT_EQ(colour.pixels, (Bytes{10, 20, 30, 255, 255, 255, 127, 127, 127}));
  const DecodedImage grey =
      decode(png_file({2, 1, 8, PNG_COLOR_TYPE_GRAY_ALPHA, false, {}}, std::string("\x64\xff\x64\0", 4)));
  EXPECT_EQ(grey.channels, 1);
  EXPECT_EQ(grey.pixels, (Bytes{100, 255}));
}

TEST(Png, PaletteWithTransparency) {
  PngOptions options{4, 1, 2, PNG_COLOR_TYPE_PALETTE, false, {}};
  options.palette = {{{1, 2, 3, 255}}, {{9, 9, 9, 0}}, {{200, 100, 0, 255}}};
  const DecodedImage image = decode(png_file(options, "\x18"));  // 0 1 2 0
  EXPECT_EQ(image.pixels, (Bytes{1, 2, 3, 255, 255, 255, 200, 100, 0, 1, 2, 3}));
}

TEST(Png, EveryTruncationIsAnError) {
  const std::string file = png_file({9, 7, 8, PNG_COLOR_TYPE_GRAY, false, {}}, counting(63));
  for (std::size_t size = 0; size < file.size(); ++size) expect_bad(file.substr(0, size), "");
  expect_bad(file.substr(0, file.size() / 2), "damaged PNG image");
}

// Each part of the file has a checksum: what still decodes is what it was.
TEST(Png, FlippedBitsNeverChangeThePicture) {
  const std::string file = png_file({9, 7, 8, PNG_COLOR_TYPE_GRAY, false, {}}, counting(63));
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    std::optional<DecodedImage> image;
    try {
      image = decode(damaged);
    } catch (const Error& error) {
      EXPECT_EQ(exit_code(error.code()), exit_code(ErrorCode::data));
    }
    if (image) {
      EXPECT_EQ(image->pixels, to_bytes(counting(63))) << "bit " << bit;
    }
  }
}

// The header with another size, and its checksum made right again.
std::string with_size(std::string file, std::uint32_t width, std::uint32_t height) {
  const auto put = [&](std::size_t at, std::uint32_t value) {
    for (std::size_t i = 0; i < 4; ++i) file[at + i] = static_cast<char>(value >> (24 - 8 * i));
  };
  put(16, width);
  put(20, height);
  put(29, static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(file.data()) + 12, 17)));
  return file;
}

TEST(Png, LargeHeadersAskForNoMemory) {
  const std::string file = png_file({9, 7, 8, PNG_COLOR_TYPE_GRAY, false, {}}, counting(63));
  expect_bad(with_size(file, 2000000000, 2000000000), "image size: expected 1 to 67108864 pixels");
  expect_bad(with_size(file, 2000000000, 1), "image size");
  expect_bad(with_size(file, 8192, 8192), "truncated PNG image");
  expect_bad(with_size(file, 0, 7), "damaged PNG image");
  expect_error(ErrorCode::data, "expected 1 to 62 pixels, found 9x7", [&] { decode(file, 62); });
  EXPECT_EQ(decode(file, 63).width, 9);
}

// A chunk of compressed text: a keyword, the method, and `size` equal letters.
std::string text_chunk(std::size_t size) {
  std::string letters(compressBound(size), '\0');
  uLongf bytes = letters.size();
  const std::string text(size, 'a');
  compress(reinterpret_cast<Bytef*>(letters.data()), &bytes, reinterpret_cast<const Bytef*>(text.data()), size);
  const std::string body = std::string("zTXtkey\0\0", 9) + letters.substr(0, bytes);
  const auto big_endian = [](std::size_t value) {
    std::string four;
    for (int shift = 24; shift >= 0; shift -= 8) four += static_cast<char>(value >> shift);
    return four;
  };
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(body.size() - 4) + body + big_endian(crc);
}

TEST(Png, CompressedTextsTakeNoMemory) {
  constexpr std::size_t kHeaderEnd = 33;
  std::string file = png_file({9, 7, 8, PNG_COLOR_TYPE_GRAY, false, {}}, counting(63));
  std::string texts;
  const std::string text = text_chunk(4 << 20);
  for (int i = 0; i < 100; ++i) texts += text;
  const std::string bomb = file.substr(0, kHeaderEnd) + texts + file.substr(kHeaderEnd);
  const auto peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;  // KiB
  };
  const long before = peak();
  EXPECT_EQ(decode(bomb).pixels, to_bytes(counting(63)));
  EXPECT_LT(peak() - before, 64 << 10);
}

// A gradient, which JPEG keeps nearly exactly.
std::string gradient(std::size_t width, std::size_t height, std::size_t channels) {
  std::string pixels;
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t x = 0; x < width; ++x)
      for (std::size_t c = 0; c < channels; ++c) pixels += static_cast<char>(40 + 2 * x + 3 * y + 10 * c);
  return pixels;
}

void expect_close(const DecodedImage& image, const std::string& pixels, int tolerance) {
  ASSERT_EQ(image.pixels.size(), pixels.size());
  for (std::size_t i = 0; i < pixels.size(); ++i)
    ASSERT_NEAR(image.pixels[i], static_cast<std::uint8_t>(pixels[i]), tolerance) << i;
}

TEST(Jpeg, GreyAndColour) {
  for (const bool progressive : {false, true}) {
    const DecodedImage grey = decode(jpeg_file({20, 16, 1, progressive}, gradient(20, 16, 1)));
    EXPECT_EQ(grey.channels, 1);
    EXPECT_EQ(grey.width, 20);
    expect_close(grey, gradient(20, 16, 1), 2);
    const DecodedImage colour = decode(jpeg_file({20, 16, 3, progressive}, gradient(20, 16, 3)));
    EXPECT_EQ(colour.channels, 3);
    expect_close(colour, gradient(20, 16, 3), 4);
  }
}

TEST(Jpeg, PrintColours) {
  std::string ink;
  for (int i = 0; i < 64; ++i) ink += std::string("\x00\x64\xc8\x32", 4);
  // libjpeg marks the file as Photoshop does, whose ink is inverted: 255 is none.
  std::string file = jpeg_file({8, 8, 4, false}, ink);
  const DecodedImage marked = decode(file);
  EXPECT_EQ(marked.channels, 3);
  ASSERT_EQ(marked.pixels.size(), 192u);
  for (int c = 0; c < 3; ++c) EXPECT_NEAR(marked.pixels[c], 100 * c * 0x32 / 255, 4);
  // Without the mark, 0 is none.
  const std::size_t mark = file.find("\xff\xee");
  ASSERT_NE(mark, std::string::npos);
  file.erase(mark, 16);
  const DecodedImage unmarked = decode(file);
  for (int c = 0; c < 3; ++c) EXPECT_NEAR(unmarked.pixels[c], (255 - 100 * c) * (255 - 0x32) / 255, 4);
}

TEST(Jpeg, EveryTruncationIsAnError) {
  for (const bool progressive : {false, true}) {
    const std::string file = jpeg_file({20, 16, 3, progressive}, gradient(20, 16, 3));
    for (std::size_t size = 0; size < file.size(); ++size) expect_bad(file.substr(0, size), "");
    expect_bad(file.substr(0, file.size() - 1), "damaged JPEG image");
  }
}

// There are no checksums; but whatever happens is a picture of the stated size or an Error{data}.
TEST(Jpeg, FlippedBitsAreErrorsAtMost) {
  const std::string file = jpeg_file({20, 16, 3, true}, gradient(20, 16, 3));
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    try {
      const DecodedImage image = decode(damaged, 1 << 20);
      EXPECT_EQ(static_cast<std::int64_t>(image.pixels.size()), image.height * image.width * image.channels);
    } catch (const Error& error) {
      EXPECT_EQ(exit_code(error.code()), exit_code(ErrorCode::data));
    }
  }
}

TEST(Jpeg, LargeHeadersAskForNoMemory) {
  std::string file = jpeg_file({20, 16, 1, false}, gradient(20, 16, 1));
  const std::size_t frame = file.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  file.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
  expect_bad(file, "image size: expected 1 to 67108864 pixels, found 65500x65500");
  file.replace(frame + 5, 4, std::string("\x20\0\x20\0", 4));
  expect_bad(file, "truncated JPEG image");
}

TEST(Jpeg, TooManyScansAreAnError) {
  // The last scan again and again: each would cost a pass over the image.
  const std::string file = jpeg_file({20, 16, 1, true}, gradient(20, 16, 1));
  const std::size_t scan = file.rfind("\xff\xda");
  const std::string end = file.substr(file.size() - 2);
  std::string repeated = file.substr(0, file.size() - 2);
  for (int i = 0; i < 100; ++i) repeated += file.substr(scan, file.size() - 2 - scan);
  expect_bad(repeated + end, "damaged JPEG image");
}

TEST(Images, OtherContentIsNamed) {
  expect_bad("", "expected a PNG or JPEG image, found an empty file");
  expect_bad("<html>", "found an HTML page");
  expect_bad("GIF89a", "found bytes 47 49 46 38");
  const TemporaryDirectory folder;
  write(folder / "picture.png", "text");
  expect_error(ErrorCode::data, (folder / "picture.png").string(), [&] { read_image(folder / "picture.png"); });
  expect_error(ErrorCode::data, "No such file", [&] { read_image(folder / "missing"); });
  write(folder / "picture.png", png_file({9, 7, 8, PNG_COLOR_TYPE_GRAY, false, {}}, counting(63)));
  EXPECT_EQ(read_image(folder / "picture.png").height, 7);
}

}  // namespace
}  // namespace lockring::data
