#include "core/error.h"
#include "data/decode.h"

#include <png.h>

#include <array>
#include <csetjmp>
#include <cstring>

namespace lockring::data {
namespace {

// Deflate cannot make more than this many bytes out of one.
constexpr std::int64_t kMostExpansion = 1032;
constexpr png_alloc_size_t kMostChunkBytes = 8 << 20;

// What libpng's callbacks work on.
struct PngInput {
  std::span<const std::byte> rest;
  std::array<char, 160> message{};
};

void read_bytes(png_structp png, png_bytep into, std::size_t count) {
  auto& input = *static_cast<PngInput*>(png_get_io_ptr(png));
  if (count > input.rest.size()) png_error(png, "the file is truncated");
  std::memcpy(into, input.rest.data(), count);
  input.rest = input.rest.subspan(count);
}

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto& input = *static_cast<PngInput*>(png_get_error_ptr(png));
  std::strncpy(input.message.data(), message, input.message.size() - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

// Runs libpng calls; an error in one jumps back here and becomes an Error. The work owns nothing, so that nothing is
// lost when frames are skipped.
template <class Work>
void guarded(png_structp png, const PngInput& input, const Work& work) {
  if (setjmp(png_jmpbuf(png)) != 0) fail(ErrorCode::data, "damaged PNG image: {}", input.message.data());
  work();
}

class PngReader {
 public:
  explicit PngReader(std::span<const std::byte> file) : input_{file} {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &input_, on_error, on_warning);
    info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
    if (info_ != nullptr) return;
    png_destroy_read_struct(&png_, nullptr, nullptr);
    fail(ErrorCode::other, "cannot start libpng");
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  void read_header();
  // From here on 8 bits a channel, without palette.
  void start_rows();
  std::int64_t height() const { return png_get_image_height(png_, info_); }
  std::int64_t width() const { return png_get_image_width(png_, info_); }
  bool colour() const { return (png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) != 0; }
  // 1 to 4: grey or colour, each perhaps with alpha last.
  std::int64_t channels() const { return png_get_channels(png_, info_); }
  void read_rows(const std::vector<png_bytep>& rows) {
    guarded(png_, input_, [&] {
      png_read_image(png_, const_cast<png_bytepp>(rows.data()));
      png_read_end(png_, nullptr);
    });
  }

 private:
  PngInput input_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

void PngReader::read_header() {
  guarded(png_, input_, [&] {
    png_set_read_fn(png_, &input_, read_bytes);
    png_set_chunk_malloc_max(png_, kMostChunkBytes);
    // None of the chunks that libpng would keep, such as texts: a thousand small ones can grow to gigabytes.
    png_set_chunk_cache_max(png_, 1);
    // The size is ours to check, with its own message.
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_read_info(png_, info_);
  });
}

void PngReader::start_rows() {
  guarded(png_, input_, [&] {
    png_set_expand(png_);
    png_set_scale_16(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
  });
}

// Lays pixels with alpha on white, in place; returns the channels that stay.
std::int64_t compose_on_white(std::vector<std::uint8_t>& pixels, std::int64_t channels) {
  if (channels == 1 || channels == 3) return channels;
  const std::int64_t colours = channels - 1;
  std::uint8_t* to = pixels.data();
  const std::uint8_t* const end = pixels.data() + pixels.size();
  for (const std::uint8_t* from = pixels.data(); from != end; from += channels) {
    const int alpha = from[colours];
    for (std::int64_t c = 0; c < colours; ++c)
      *to++ = static_cast<std::uint8_t>((from[c] * alpha + 255 * (255 - alpha) + 127) / 255);
  }
  pixels.resize(static_cast<std::size_t>(to - pixels.data()));
  return colours;
}

}  // namespace

ImageHeader read_png_header(std::span<const std::byte> file, std::int64_t most_pixels) {
  PngReader reader(file);
  reader.read_header();
  check_image_size(reader.height(), reader.width(), most_pixels);
  return {reader.height(), reader.width(), reader.colour() ? 3 : 1};
}

DecodedImage decode_png(std::span<const std::byte> file, std::int64_t most_pixels) {
  PngReader reader(file);
  reader.read_header();
  const std::int64_t height = reader.height(), width = reader.width();
  check_image_size(height, width, most_pixels);
  // A bit a pixel is the least; a header must not ask for memory that the file cannot fill.
  check(height * width / 8 <= static_cast<std::int64_t>(file.size()) * kMostExpansion, ErrorCode::data,
        "truncated PNG image: {} bytes cannot hold {}x{} pixels", file.size(), width, height);
  reader.start_rows();
  DecodedImage image{height, width, reader.channels(), {}};
  const std::size_t row = static_cast<std::size_t>(image.width * image.channels);
  image.pixels.resize(row * static_cast<std::size_t>(image.height));
  std::vector<png_bytep> rows(static_cast<std::size_t>(image.height));
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = image.pixels.data() + y * row;
  reader.read_rows(rows);
  image.channels = compose_on_white(image.pixels, image.channels);
  return image;
}

}  // namespace lockring::data
