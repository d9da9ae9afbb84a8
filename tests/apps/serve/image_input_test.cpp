#include "apps/serve/image_input.h"

#include "data/encode_png.h"
#include "tests/apps/serve/fake_servable.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

namespace lockring::app::serve {
namespace {

const std::string kType = "multipart/form-data; boundary=xyz";

std::string form(std::initializer_list<std::string> parts) {
  std::string body;
  for (const std::string& part : parts) body += "--xyz\r\n" + part + "\r\n";
  return body + "--xyz--\r\n";
}

std::string part(const std::string& disposition, const std::string& content) {
  return "Content-Disposition: form-data; " + disposition + "\r\nContent-Type: image/png\r\n\r\n" + content;
}

TEST(Form, PartsHaveNamesAndContent) {
  const std::string body = form({part("name=\"image\"; filename=\"a b.png\"", "one\r\ntwo"), part("name=other", "")});
  const std::vector<FormPart> parts = parse_form(body, kType);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].name, "image");
  EXPECT_EQ(parts[0].filename, "a b.png");
  EXPECT_EQ(parts[0].content, "one\r\ntwo");
  EXPECT_EQ(parts[1].name, "other");
  EXPECT_EQ(parts[1].content, "");
  EXPECT_EQ(parse_form(body, "multipart/form-data; charset=utf-8; Boundary=\"xyz\"").size(), 2u);
}

TEST(Form, WhatIsNoFormIsRefused) {
  const std::string good = form({part("name=image", "x")});
  const auto refused = [](const std::string& body, const std::string& type, const char* why) {
    expect_error(ErrorCode::usage, why, [&] { parse_form(body, type); });
  };
  refused(good, "multipart/form-data", "no boundary");
  refused(good, "multipart/form-data; boundary=abc", "does not begin with its boundary");
  refused("", kType, "does not begin with its boundary");
  refused(good.substr(0, good.size() - 8), kType, "ends within a part");
  refused("--xyz\r\nno headers\r\n--xyz--", kType, "no empty line");
  refused("--xyz\r\n\r\n--xyz--", kType, "no empty line");
  refused("--xyzz", kType, "something else");
  for (std::size_t length = 0; length + 4 < good.size(); ++length)
    expect_error(ErrorCode::usage, "", [&] { parse_form(good.substr(0, length), kType); });
}

TEST(Picture, BecomesWhatTheModelTakes) {
  Tensor image = Tensor::zeros({2, 2, 1}, DType::u8);
  image.data<std::uint8_t>()[3] = 90;
  const std::string png = data::encode_png(image);
  const auto bytes = std::as_bytes(std::span(png));
  EXPECT_TRUE(is_picture(bytes));
  EXPECT_EQ(pixels_of(bytes), 4);
  const PictureInput input = read_picture(bytes, small_description("m"));
  EXPECT_EQ(input.images.shape(), (Shape{1, 2, 2, 1}));
  EXPECT_EQ(input.images.data<std::uint8_t>()[3], 90);
  EXPECT_FALSE(input.inverted);
}

TEST(Picture, ALightGroundIsInvertedUnlessTheDataWereColoured) {
  Tensor image = Tensor::empty({2, 2, 1}, DType::u8);
  std::ranges::fill(image.values<std::uint8_t>(), std::uint8_t{250});
  const std::string png = data::encode_png(image);
  const auto bytes = std::as_bytes(std::span(png));
  Description description = small_description("m");
  EXPECT_TRUE(read_picture(bytes, description).inverted);
  description.light_on_dark = false;
  EXPECT_FALSE(read_picture(bytes, description).inverted);
}

TEST(Picture, DamagedFilesAreRefused) {
  const std::string png = data::encode_png(Tensor::zeros({9, 9, 1}, DType::u8));
  for (const std::string& bad :
       {png.substr(0, png.size() / 2), std::string("\x89PNG\r\n\x1a\n"), std::string("\xff\xd8\xff")}) {
    EXPECT_TRUE(is_picture(std::as_bytes(std::span(bad))));
    expect_error(ErrorCode::data, "", [&] { read_picture(std::as_bytes(std::span(bad)), small_description("m")); });
  }
  EXPECT_EQ(pixels_of(std::as_bytes(std::span(std::string_view("no picture")))), 0);
}

}  // namespace
}  // namespace lockring::app::serve
