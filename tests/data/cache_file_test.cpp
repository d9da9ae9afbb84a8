#include "data/cache_file.h"

#include "core/files.h"
#include "data/channel_histogram.h"
#include "tests/data/numbered_images.h"
#include "tests/data/small_files.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

namespace lockring::data {
namespace {

class CacheFileTest : public testing::Test {
 protected:
  CacheFileTest() { write_cache_file(path_, key_, "small", *images_); }

  CacheFile open() {
    const auto source = [this] {
      ++sources_;
      return images_;
    };
    return open_cache_file(path_, source, [this](const std::string& reason) { damages_.push_back(reason); });
  }

  // A new file: some file systems sync one that is written over.
  void rewrite(std::string_view content) const {
    std::filesystem::remove(path_);
    write(path_, content);
  }

  TemporaryDirectory folder_;
  const std::filesystem::path path_ = folder_ / "a.images";
  const CacheKey key_{.digest = std::string(64, 'd'), .split = "train", .front = "resize:2x3"};
  std::shared_ptr<NumberedImages> images_ = std::make_shared<NumberedImages>(7, Shape{2, 3, 3});
  int sources_ = 0;
  std::vector<std::string> damages_;
};

TEST_F(CacheFileTest, GivesBackWhatWasWritten) {
  const CacheFile file = open();
  EXPECT_EQ(file.info.key, key_);
  EXPECT_EQ(file.info.dataset, "small");
  EXPECT_EQ(file.info.shape, (Shape{7, 2, 3, 3}));
  ChannelHistogram histogram(3);
  const Tensor all = images_->copy(0, 7);
  histogram.add(all.values<std::uint8_t>());
  EXPECT_EQ(file.info.statistics.mean, histogram.statistics().mean);
  EXPECT_EQ(file.info.statistics.deviation, histogram.statistics().deviation);
  EXPECT_EQ(file.images->access(), Access::disk);
  images_->reads = 0;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Tensor(file.images->copy(3, 5)).bytes(), 36);
  EXPECT_EQ(images_->reads, 0);
  EXPECT_TRUE(same_images(*file.images, *images_));
  EXPECT_EQ(sources_, 0);
}

TEST_F(CacheFileTest, EqualImagesGiveEqualFiles) {
  const std::filesystem::path other = folder_ / "b.images";
  write_cache_file(other, key_, "small", *images_);
  EXPECT_EQ(read_file(path_), read_file(other));
}

TEST_F(CacheFileTest, AFileCutAnywhereIsNotTaken) {
  const std::string whole = read_file(path_);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    rewrite(std::string_view(whole).substr(0, size));
    EXPECT_THROW(open(), Error) << size;
  }
  write(path_, whole + '\0');
  expect_error(ErrorCode::data, "truncated or damaged", [&] { open(); });
}

// A flipped bit is noticed at once or when its image is read, or it is in bytes that mean nothing; no image is wrong.
TEST_F(CacheFileTest, AFlippedBitNeverShows) {
  const std::string whole = read_file(path_);
  std::size_t refused = 0;
  std::size_t repaired = 0;
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    std::string flipped = whole;
    flipped[byte] = static_cast<char>(flipped[byte] ^ 1 << byte % 8);
    rewrite(flipped);
    damages_.clear();
    try {
      const CacheFile file = open();
      EXPECT_TRUE(same_images(*file.images, *images_)) << byte;
      EXPECT_TRUE(file.info.key == key_) << byte;
      repaired += damages_.size();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::data);
      ++refused;
    }
  }
  EXPECT_EQ(repaired, 7 * 18u);          // the images
  EXPECT_GT(refused, 7 * 4u + 32 - 4u);  // checksums, end and description
}

TEST_F(CacheFileTest, WhatIsNotACacheFileIsNamed) {
  write(path_, std::string(1000, 'x'));
  expect_error(ErrorCode::data, "a.images: expected a file of cached images, found something else", [&] { open(); });
  write(path_, "");
  expect_error(ErrorCode::data, "found too few bytes", [&] { open(); });
  std::filesystem::remove(path_);
  expect_error(ErrorCode::data, "cannot read", [&] { open(); });
  std::filesystem::create_directory(path_);
  expect_error(ErrorCode::data, "expected a file", [&] { open(); });
}

TEST_F(CacheFileTest, DamageIsToldOnceAndEveryDamagedImageComesFromTheSource) {
  for (const std::size_t image : {1u, 4u}) flip_bit(path_, 64 + image * 18 + 5);
  const CacheFile file = open();
  for (int epoch = 0; epoch < 2; ++epoch) EXPECT_TRUE(same_images(*file.images, *images_));
  EXPECT_EQ(sources_, 1);
  ASSERT_EQ(damages_.size(), 1u);
  EXPECT_EQ(damages_[0], path_.string() + ": image 1 is damaged");
}

// As when somebody writes into the file while we read it.
TEST_F(CacheFileTest, AFileThatGetsShorterLosesNothing) {
  const CacheFile file = open();
  EXPECT_TRUE(same_images(*file.images, *images_));
  std::filesystem::resize_file(path_, 64 + 3 * 18 + 2);
  EXPECT_TRUE(same_images(*file.images, *images_));
  ASSERT_EQ(damages_.size(), 1u);
  EXPECT_NE(damages_[0].find("truncated"), std::string::npos) << damages_[0];
}

TEST_F(CacheFileTest, ASourceThatFailsIsAnError) {
  flip_bit(path_, 64 + 2 * 18);
  const CacheFile file = open();
  images_->bad = 2;
  expect_error(ErrorCode::data, "image 2 is damaged", [&] { file.images->copy(2, 3); });
}

TEST_F(CacheFileTest, ErrorsOfTheDiskAreToldFromThoseOfTheImages) {
  EXPECT_THROW(write_cache_file(folder_ / "missing" / "a.images", key_, "small", *images_), CacheUnusable);
  images_->bad = 3;
  try {
    write_cache_file(folder_ / "c.images", key_, "small", *images_);
    ADD_FAILURE() << "expected an error";
  } catch (const CacheUnusable&) {
    ADD_FAILURE() << "expected the error of the image";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "image 3 is damaged");
  }
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    files.push_back(entry.path().filename().string());
  EXPECT_EQ(files, std::vector<std::string>{"a.images"});
}

TEST_F(CacheFileTest, EveryPartOfAKeyChangesItsName) {
  EXPECT_EQ(key_.name().size(), 16u);
  CacheKey other = key_;
  other.format += 1;
  EXPECT_NE(other.name(), key_.name());
  other = key_;
  other.digest[3] = 'e';
  EXPECT_NE(other.name(), key_.name());
  other = key_;
  other.split = "test";
  EXPECT_NE(other.name(), key_.name());
  other = key_;
  other.front = "resize:2x4";
  EXPECT_NE(other.name(), key_.name());
  // The same one in every run.
  EXPECT_EQ((CacheKey{.format = 1, .digest = "ab", .split = "test", .front = "grayscale"}.name()), "191b24c29c9e4f92");
}

}  // namespace
}  // namespace lockring::data
