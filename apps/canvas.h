// A picture in colour that images and short texts are drawn on.
#pragma once

#include "core/tensor.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace lockring::app {

using Colour = std::array<std::uint8_t, 3>;  // red, green, blue

inline constexpr std::int64_t kGlyphHeight = 7;
inline constexpr std::int64_t kGlyphWidth = 5;
inline constexpr std::int64_t kGlyphAdvance = kGlyphWidth + 1;

// What would lie outside is left out.
class Canvas {
 public:
  struct Box {
    std::int64_t top, left, height, width;
  };

  Canvas(std::int64_t height, std::int64_t width, Colour ground);

  // An image of bytes [h][w][1 or 3], made to fill the box: each pixel is the nearest of the image.
  void draw(const Tensor& image, Box box);
  // In capitals of five by seven pixels, kGlyphAdvance pixels each.
  void write(std::string_view text, std::int64_t top, std::int64_t left, Colour colour);

  // u8 [height, width, 3]
  const Tensor& pixels() const { return pixels_; }

 private:
  void set(std::int64_t y, std::int64_t x, Colour colour);

  Tensor pixels_;
};

}  // namespace lockring::app
