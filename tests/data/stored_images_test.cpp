#include "data/stored_images.h"

#include "tests/data/small_files.h"
#include "tests/data/small_images.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace lockring::data {
namespace {

class StoredImagesTest : public testing::Test {
 protected:
  std::filesystem::path file(const std::string& content) const {
    write(folder_ / "file", content);
    return folder_ / "file";
  }
  void expect_bad(const std::string& content, std::string_view part) const {
    expect_error(ErrorCode::data, part, [&] { on_disk(file(content)); });
  }

  TemporaryDirectory folder_;
};

TEST_F(StoredImagesTest, ReadsImagesOfAnIdxFileInAnyOrder) {
  const auto grey = on_disk(file(idx_file({5, 2, 3})));
  ASSERT_EQ(grey->shape(), (Shape{5, 2, 3, 1}));
  std::uint8_t pixels[6];
  for (const std::int64_t i : {4, 0, 2}) {
    ASSERT_EQ(grey->image(i, pixels), pixels);
    for (int k = 0; k < 6; ++k) EXPECT_EQ(pixels[k], 6 * i + k);
  }
  const auto colours = on_disk(file(idx_file({2, 2, 1, 3})));
  ASSERT_EQ(colours->shape(), (Shape{2, 2, 1, 3}));
  EXPECT_EQ(colours->copy(1, 2).data<std::uint8_t>()[0], 6);
}

TEST_F(StoredImagesTest, ManyThreadsReadAtOnce) {
  const auto images = on_disk(file(idx_file({200, 4, 4})));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      std::uint8_t pixels[16];
      for (std::int64_t i = 0; i < 200; ++i)
        if (images->image(i, pixels)[3] != static_cast<std::uint8_t>(16 * i + 3)) ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(StoredImagesTest, RejectsIdxFilesOfAnotherKindOrLength) {
  const std::string whole = idx_file({5, 2, 3});
  expect_bad(whole.substr(0, whole.size() - 1), "truncated");
  expect_bad(whole + "x", "too long: expected 46 bytes");
  expect_bad(gzip(whole), "not compressed");
  expect_bad(label_file(5), "expected images of sizes");
  expect_bad("<html>", "HTML");
}

TEST_F(StoredImagesTest, AFileThatShrinksLaterIsAnError) {
  const auto images = on_disk(file(idx_file({5, 2, 3})));
  std::filesystem::resize_file(folder_ / "file", 30);
  std::uint8_t pixels[6];
  EXPECT_EQ(images->image(0, pixels)[1], 1);
  expect_error(ErrorCode::data, "file: truncated: expected 4 more bytes at byte 30", [&] { images->image(2, pixels); });
}

class EncodedImagesTest : public StoredImagesTest {
 protected:
  static std::string entry(const std::string& name, const std::string& content) {
    const auto bytes = static_cast<std::int64_t>(content.size());
    return tar_header("class", name, bytes) + content + std::string(static_cast<std::size_t>(tar_padding(bytes)), '\0');
  }

  const std::string png_ = png_file({.width = 3, .height = 2, .palette = {}}, "abcdef");
  const std::string jpeg_ = jpeg_file({.width = 8, .height = 8}, std::string(192, 'x'));
  const std::string archive_ = entry("0.png", png_) + entry("1.jpg", jpeg_) + std::string(kTarEnd, '\0');
};

TEST_F(EncodedImagesTest, DecodesInAnyOrder) {
  const EncodedImages images(file(archive_), 3);
  ASSERT_EQ(images.size(), 2);
  const DecodedImage colours = images.read(1);
  EXPECT_EQ(colours.height, 8);
  EXPECT_EQ(colours.pixels, decode(jpeg_).pixels);
  // Grey becomes what the set has.
  const DecodedImage grey = images.read(0);
  EXPECT_EQ(grey.width, 3);
  EXPECT_EQ(grey.channels, 3);
  EXPECT_EQ(std::string(grey.pixels.begin(), grey.pixels.end()), "aaabbbcccdddeeefff");
  EXPECT_EQ(EncodedImages(folder_ / "file", 1).read(0).pixels.size(), 6u);
  const std::vector<std::byte> bytes = images.read_file(0);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), png_);
}

TEST_F(EncodedImagesTest, NamesADamagedImage) {
  const EncodedImages images(file(archive_), 1);
  flip_bit(folder_ / "file", kTarBlock + 45);
  expect_error(ErrorCode::data, "file: class/0.png: damaged PNG", [&] { images.read(0); });
  EXPECT_EQ(images.read(1).height, 8);
}

TEST_F(EncodedImagesTest, RejectsADamagedArchive) {
  expect_error(ErrorCode::data, "truncated", [&] { EncodedImages(file(archive_.substr(0, 600)), 1); });
  expect_error(ErrorCode::data, "absent", [&] { EncodedImages(folder_ / "absent", 1); });
  expect_error(ErrorCode::data, "expected a file", [&] { EncodedImages(folder_.path(), 1); });
}

}  // namespace
}  // namespace lockring::data
