#include "apps/picture.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace lockring::app {
namespace {

// Three pictures side by side in 80 columns.
constexpr int kPictureColumns = 24;
constexpr int kGap = 3;

// How light the upper and the lower half of a character are.
struct Glyph {
  const char* text;
  double upper;
  double lower;
};
constexpr Glyph kBlocks[] = {
    {" ", 0, 0}, {"░", 0.25, 0.25}, {"▒", 0.5, 0.5}, {"▓", 0.75, 0.75}, {"█", 1, 1}, {"▀", 1, 0}, {"▄", 0, 1},
};
constexpr Glyph kInk[] = {
    {" ", 0, 0},     {"'", 0.4, 0},   {".", 0, 0.4},  {":", 0.3, 0.3}, {"-", 0.4, 0.4},   {"=", 0.5, 0.5},
    {"+", 0.6, 0.6}, {"*", 0.7, 0.7}, {"\"", 0.8, 0}, {"_", 0, 0.8},   {"#", 0.85, 0.85}, {"@", 1, 1},
};

const char* nearest_glyph(std::span<const Glyph> glyphs, double upper, double lower) {
  const auto distance = [&](const Glyph& glyph) { return std::hypot(glyph.upper - upper, glyph.lower - lower); };
  return std::ranges::min_element(glyphs, {}, distance)->text;
}

struct Box {
  double top, bottom, left, right;
};

// Mean over the box, from 0 to 1; pixels that lie partly in it count with that part.
double mean_light(const Tensor& image, const Box& box) {
  const std::int64_t width = image.size(1);
  const std::int64_t channels = image.size(2);
  const auto* pixels = image.data<std::uint8_t>();
  double sum = 0;
  for (auto y = static_cast<std::int64_t>(box.top); y < std::ceil(box.bottom); ++y) {
    const double height = std::min(y + 1.0, box.bottom) - std::max<double>(y, box.top);
    for (auto x = static_cast<std::int64_t>(box.left); x < std::ceil(box.right); ++x) {
      const double area = height * (std::min(x + 1.0, box.right) - std::max<double>(x, box.left));
      for (std::int64_t c = 0; c < channels; ++c) sum += area * pixels[(y * width + x) * channels + c];
    }
  }
  return sum / ((box.bottom - box.top) * (box.right - box.left) * static_cast<double>(channels) * 255);
}

}  // namespace

std::vector<std::string> image_lines(const Tensor& image, int columns, bool utf8) {
  const auto height = static_cast<double>(image.size(0));
  const auto width = static_cast<double>(image.size(1));
  const int rows = std::max(1, static_cast<int>(std::lround(columns * height / (2 * width))));
  const std::span<const Glyph> glyphs = utf8 ? std::span<const Glyph>(kBlocks) : kInk;
  const auto light = [&](int half_row, int column) {
    return mean_light(image, {.top = height * half_row / (2 * rows),
                              .bottom = height * (half_row + 1) / (2 * rows),
                              .left = width * column / columns,
                              .right = width * (column + 1) / columns});
  };
  std::vector<std::string> lines(static_cast<std::size_t>(rows));
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      lines[static_cast<std::size_t>(row)] += nearest_glyph(glyphs, light(2 * row, column), light(2 * row + 1, column));
  return lines;
}

std::string picture_rows(std::span<const Picture> pictures, int width, bool utf8) {
  const auto in_a_row = static_cast<std::size_t>(std::max(1, (width + kGap) / (kPictureColumns + kGap)));
  std::string text;
  for (std::size_t begin = 0; begin < pictures.size(); begin += in_a_row) {
    std::vector<std::string> lines;
    for (const Picture& picture : pictures.subspan(begin, std::min(in_a_row, pictures.size() - begin))) {
      std::vector<std::string> column = picture.caption;
      std::ranges::copy(image_lines(picture.image, kPictureColumns, utf8), std::back_inserter(column));
      lines.resize(std::max(lines.size(), column.size()));
      for (std::size_t i = 0; i < column.size(); ++i) {
        const std::string gap(lines[i].empty() ? 0 : kGap, ' ');
        lines[i] += fmt::format("{}{:<{}.{}}", gap, column[i], kPictureColumns, kPictureColumns);
      }
    }
    for (const std::string& line : lines) text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
    text += '\n';
  }
  return text;
}

}  // namespace lockring::app
