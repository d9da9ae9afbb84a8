#include "apps/canvas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

namespace lockring::app {
namespace {

constexpr Colour kBlack{0, 0, 0};
constexpr Colour kInk{10, 20, 30};

Colour at(const Canvas& canvas, std::int64_t y, std::int64_t x) {
  const auto* pixel = canvas.pixels().data<std::uint8_t>() + (y * canvas.pixels().size(1) + x) * 3;
  return {pixel[0], pixel[1], pixel[2]};
}

// '#' for ink.
std::string art(const Canvas& canvas) {
  std::string text;
  for (std::int64_t y = 0; y < canvas.pixels().size(0); ++y) {
    for (std::int64_t x = 0; x < canvas.pixels().size(1); ++x) text += at(canvas, y, x) == kInk ? '#' : '.';
    text += '\n';
  }
  return text;
}

std::string written(std::string_view text, std::int64_t width = kGlyphWidth) {
  Canvas canvas(kGlyphHeight, width, kBlack);
  canvas.write(text, 0, 0, kInk);
  return art(canvas);
}

TEST(Canvas, WritesLetters) {
  EXPECT_EQ(written("E5", 11),
            "#####.#####\n"
            "#.....#....\n"
            "#.....####.\n"
            "####......#\n"
            "#.........#\n"
            "#.........#\n"
            "#####.####.\n");
  EXPECT_EQ(written("e"), written("E"));
}

TEST(Canvas, EveryCharacterLooksDifferent) {
  std::set<std::string> seen;
  const std::string characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -_/.,'()+&:?";
  for (const char character : characters) seen.insert(written({&character, 1}));
  EXPECT_EQ(seen.size(), characters.size());
}

TEST(Canvas, WhatHasNoGlyphIsAQuestionMark) {
  EXPECT_EQ(written("~"), written("?"));
  EXPECT_EQ(written("öx", 11), written("?x", 11)) << "a character of two bytes is one";
}

TEST(Canvas, DrawsAnImageLargerAndSmaller) {
  Tensor image = Tensor::empty({2, 2, 1}, DType::u8);
  std::iota(image.values<std::uint8_t>().begin(), image.values<std::uint8_t>().end(), 1);
  Canvas canvas(5, 6, kBlack);
  canvas.draw(image, {.top = 1, .left = 2, .height = 4, .width = 4});
  EXPECT_EQ(at(canvas, 1, 2), (Colour{1, 1, 1}));
  EXPECT_EQ(at(canvas, 2, 3), (Colour{1, 1, 1}));
  EXPECT_EQ(at(canvas, 2, 4), (Colour{2, 2, 2}));
  EXPECT_EQ(at(canvas, 4, 5), (Colour{4, 4, 4}));
  EXPECT_EQ(at(canvas, 0, 2), kBlack);
  EXPECT_EQ(at(canvas, 1, 1), kBlack);
  Canvas small(1, 1, kInk);
  small.draw(image, {.top = 0, .left = 0, .height = 1, .width = 1});
  EXPECT_EQ(at(small, 0, 0), (Colour{1, 1, 1}));
}

TEST(Canvas, KeepsColours) {
  Tensor image = Tensor::empty({1, 1, 3}, DType::u8);
  std::ranges::copy(kInk, image.values<std::uint8_t>().begin());
  Canvas canvas(1, 2, kBlack);
  canvas.draw(image, {.top = 0, .left = 1, .height = 1, .width = 1});
  EXPECT_EQ(at(canvas, 0, 1), kInk);
}

TEST(Canvas, LeavesOutWhatLiesOutside) {
  Canvas canvas(3, 3, kBlack);
  canvas.write("MMM", -2, -3, kInk);
  canvas.draw(Tensor::empty({4, 4, 1}, DType::u8), {.top = 2, .left = 2, .height = 9, .width = 9});
  EXPECT_EQ(at(canvas, 0, 0), kBlack);
  EXPECT_EQ(at(canvas, 0, 1), kInk) << "the end of the first letter's third row";
}

}  // namespace
}  // namespace lockring::app
