#include "apps/contact_sheet.h"

#include "data/image_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace lockring::app {
namespace {

constexpr std::int64_t kLongestSide = 64;  // of an image in the picture
constexpr std::int64_t kGap = 3;
constexpr std::uint8_t kGround = 40;
constexpr std::uint8_t kInk = 220;

// Digits of 3 x 5 dots, a row an octal digit, from the top.
constexpr std::array<unsigned, 10> kDigits = {075557, 026227, 071747, 071717, 055711,
                                              074717, 074757, 071111, 075757, 075717};
constexpr std::int64_t kDotColumns = 3;
constexpr std::int64_t kDotRows = 5;
constexpr std::int64_t kDot = 3;  // pixels
constexpr std::int64_t kDigitWidth = (kDotColumns + 1) * kDot;

struct Cell {
  std::int64_t height = 0;
  std::int64_t width = 0;
};

// All images are as large where the set has one size; the others are fitted into a square.
Cell cell_size(const data::ImageSizes& sizes) {
  if (!sizes.one()) return {kLongestSide, kLongestSide};
  const auto longest = static_cast<double>(std::max(sizes.most_height, sizes.most_width));
  const auto scaled = [longest](std::int64_t size) {
    return std::max<std::int64_t>(1, std::llround(static_cast<double>(size * kLongestSide) / longest));
  };
  return {scaled(sizes.most_height), scaled(sizes.most_width)};
}

data::DecodedImage read(const data::StoredSplit& split, std::int64_t index) {
  if (split.encoded) return split.encoded->read(index);
  const Shape& shape = split.images->shape();
  data::DecodedImage image{shape[1], shape[2], shape[3], {}};
  image.pixels.resize(static_cast<std::size_t>(split.images->image_bytes()));
  const std::uint8_t* pixels = split.images->image(index, image.pixels.data());
  if (pixels != image.pixels.data()) std::copy_n(pixels, image.pixels.size(), image.pixels.data());
  return image;
}

class Sheet {
 public:
  Sheet(std::int64_t height, std::int64_t width, std::int64_t channels)
      : pixels_(Tensor::empty({height, width, channels}, DType::u8)) {
    std::ranges::fill(pixels_.values<std::uint8_t>(), kGround);
  }

  void draw(const Tensor& image, std::int64_t top, std::int64_t left) {
    const std::int64_t row = image.size(1) * image.size(2);
    for (std::int64_t y = 0; y < image.size(0); ++y)
      std::copy_n(image.data<std::uint8_t>() + y * row, row, at(top + y, left));
  }

  void draw_digit(unsigned digit, std::int64_t top, std::int64_t left) {
    for (std::int64_t y = 0; y < kDotRows * kDot; ++y)
      for (std::int64_t x = 0; x < kDotColumns * kDot; ++x) {
        const std::int64_t dot = (kDotRows - 1 - y / kDot) * kDotColumns + kDotColumns - 1 - x / kDot;
        if ((kDigits[digit] >> dot & 1) != 0) std::fill_n(at(top + y, left + x), pixels_.size(2), kInk);
      }
  }

  const Tensor& pixels() const { return pixels_; }

 private:
  std::uint8_t* at(std::int64_t y, std::int64_t x) {
    return pixels_.data<std::uint8_t>() + (y * pixels_.size(1) + x) * pixels_.size(2);
  }

  Tensor pixels_;
};

// The training images of each class.
std::vector<std::vector<std::int64_t>> images_by_class(const Tensor& labels, std::size_t classes) {
  std::vector<std::vector<std::int64_t>> images(classes);
  for (std::int64_t i = 0; i < labels.size(0); ++i) images[labels.data<std::uint8_t>()[i]].push_back(i);
  return images;
}

// Colours beyond three, as alpha, are not shown.
data::DecodedImage shown(data::DecodedImage image) {
  if (image.channels == 1 || image.channels == 3) return image;
  std::vector<std::uint8_t> pixels;
  const std::int64_t kept = image.channels < 3 ? 1 : 3;
  for (std::int64_t i = 0; i < image.height * image.width; ++i)
    for (std::int64_t c = 0; c < kept; ++c)
      pixels.push_back(image.pixels[static_cast<std::size_t>(i * image.channels + c)]);
  return {image.height, image.width, kept, std::move(pixels)};
}

}  // namespace

Tensor contact_sheet(const data::StoredDataset& dataset, std::int64_t columns) {
  const data::Manifest& manifest = dataset.manifest;
  const Cell cell = cell_size(manifest.sizes);
  const std::size_t classes = manifest.classes.size();
  const auto images = images_by_class(dataset.train.labels, classes);
  const std::string last_label = std::to_string(classes - 1);
  const std::int64_t margin = kGap + std::ssize(last_label) * kDigitWidth;
  const std::int64_t row_height = std::max(cell.height, kDotRows * kDot) + kGap;
  Sheet sheet(kGap + std::ssize(images) * row_height, margin + columns * (cell.width + kGap),
              manifest.sizes.channels < 3 ? 1 : 3);
  for (std::size_t label = 0; label < classes; ++label) {
    const std::int64_t top = kGap + static_cast<std::int64_t>(label) * row_height;
    std::int64_t left = kGap;
    for (const char digit : std::to_string(label)) {
      sheet.draw_digit(static_cast<unsigned>(digit - '0'), top, left);
      left += kDigitWidth;
    }
    const std::int64_t count = std::min<std::int64_t>(columns, std::ssize(images[label]));
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t index = images[label][static_cast<std::size_t>(i * std::ssize(images[label]) / count)];
      sheet.draw(data::scale_to_fit(shown(read(dataset.train, index)), cell.height, cell.width), top,
                 margin + i * (cell.width + kGap));
    }
  }
  return sheet.pixels();
}

}  // namespace lockring::app
