#include "core/error.h"
#include "data/decode.h"

// jpeglib.h wants these first.
#include <cstddef>
#include <cstdio>

#include <jpeglib.h>

#include <jerror.h>

#include <csetjmp>

namespace lockring::data {
namespace {

// Scans a progressive image may have; honest encoders write about ten, and each costs a pass over all pixels.
constexpr int kMostScans = 64;

// libjpeg hands `base` to its callbacks.
struct JpegErrors {
  jpeg_error_mgr base;
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void on_error(j_common_ptr jpeg) {
  auto* errors = reinterpret_cast<JpegErrors*>(jpeg->err);
  errors->base.format_message(jpeg, errors->message);
  std::longjmp(errors->jump, 1);
}

// libjpeg goes on with grey pixels where data is damaged or missing; we do not. Stray bytes between markers harm
// nothing.
void on_message(j_common_ptr jpeg, int level) {
  if (level < 0 && jpeg->err->msg_code != JWRN_EXTRANEOUS_DATA) on_error(jpeg);
}

void on_progress(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number > kMostScans) ERREXIT(jpeg, JERR_BAD_PROGRESSION);
}

class JpegReader {
 public:
  JpegReader() {
    jpeg_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = on_error;
    errors_.base.emit_message = on_message;
    progress_.progress_monitor = on_progress;
    guarded([&] {
      jpeg_create_decompress(&jpeg_);
      jpeg_.progress = &progress_;
    });
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  // Chooses one, three or (for print colours) four channels of output.
  void read_header(std::span<const std::byte> file);
  void read_rows(std::uint8_t* pixels, std::int64_t row_bytes);

  std::int64_t height() const { return jpeg_.image_height; }
  std::int64_t width() const { return jpeg_.image_width; }
  std::int64_t channels() const {
    return jpeg_.out_color_space == JCS_GRAYSCALE ? 1 : jpeg_.out_color_space == JCS_CMYK ? 4 : 3;
  }
  // A header must not ask for memory that the file cannot fill: a Huffman code takes a bit at least, and each block of
  // 8x8 pixels has one. Arithmetic codes, which are rare, can be shorter.
  bool may_hold(std::int64_t pixels, std::size_t bytes) const {
    return jpeg_.arith_code || pixels / 64 <= 8 * static_cast<std::int64_t>(bytes);
  }
  // Photoshop stores print colours inverted, and says that it wrote the file.
  bool inverted_print_colours() const { return jpeg_.saw_Adobe_marker; }

 private:
  // Runs libjpeg calls; an error in one jumps back here and becomes an Error. The work owns nothing, so that nothing is
  // lost when frames are skipped.
  template <class Work>
  void guarded(const Work& work) {
    if (setjmp(errors_.jump) != 0) fail(ErrorCode::data, "damaged JPEG image: {}", errors_.message);
    work();
  }

  jpeg_decompress_struct jpeg_{};
  JpegErrors errors_{};
  jpeg_progress_mgr progress_{};
};

void JpegReader::read_header(std::span<const std::byte> file) {
  guarded([&] {
    jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(file.data()), file.size());
    jpeg_read_header(&jpeg_, TRUE);
    if (jpeg_.jpeg_color_space == JCS_GRAYSCALE)
      jpeg_.out_color_space = JCS_GRAYSCALE;
    else if (jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK)
      jpeg_.out_color_space = JCS_CMYK;
    else
      jpeg_.out_color_space = JCS_RGB;
  });
}

void JpegReader::read_rows(std::uint8_t* pixels, std::int64_t row_bytes) {
  guarded([&] {
    jpeg_start_decompress(&jpeg_);
    while (jpeg_.output_scanline < jpeg_.output_height) {
      JSAMPROW row = pixels + static_cast<std::int64_t>(jpeg_.output_scanline) * row_bytes;
      jpeg_read_scanlines(&jpeg_, &row, 1);
    }
    jpeg_finish_decompress(&jpeg_);
  });
}

// Cyan, magenta, yellow and black to red, green and blue, in place.
void convert_print_colours(std::vector<std::uint8_t>& pixels, bool inverted) {
  std::uint8_t* to = pixels.data();
  for (std::size_t i = 0; i < pixels.size(); i += 4) {
    const int black = inverted ? pixels[i + 3] : 255 - pixels[i + 3];
    for (std::size_t c = 0; c < 3; ++c) {
      const int colour = inverted ? pixels[i + c] : 255 - pixels[i + c];
      *to++ = static_cast<std::uint8_t>((colour * black + 127) / 255);
    }
  }
  pixels.resize(static_cast<std::size_t>(to - pixels.data()));
}

}  // namespace

ImageHeader read_jpeg_header(std::span<const std::byte> file, std::int64_t most_pixels) {
  JpegReader reader;
  reader.read_header(file);
  check_image_size(reader.height(), reader.width(), most_pixels);
  return {reader.height(), reader.width(), reader.channels() == 1 ? 1 : 3};
}

DecodedImage decode_jpeg(std::span<const std::byte> file, std::int64_t most_pixels) {
  JpegReader reader;
  reader.read_header(file);
  DecodedImage image{reader.height(), reader.width(), reader.channels(), {}};
  check_image_size(image.height, image.width, most_pixels);
  check(reader.may_hold(image.height * image.width, file.size()), ErrorCode::data,
        "truncated JPEG image: {} bytes cannot hold {}x{} pixels", file.size(), image.width, image.height);
  image.pixels.resize(static_cast<std::size_t>(image.height * image.width * image.channels));
  reader.read_rows(image.pixels.data(), image.width * image.channels);
  if (image.channels == 4) {
    convert_print_colours(image.pixels, reader.inverted_print_colours());
    image.channels = 3;
  }
  return image;
}

}  // namespace lockring::data
