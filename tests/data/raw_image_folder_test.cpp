#include "core/files.h"
#include "tests/data/raw_reading.h"
#include "tests/data/small_files.h"
#include "tests/data/small_folders.h"
#include "tests/data/small_images.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <png.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

class ImageFolderTest : public testing::Test {
 protected:
  ImageFolderTest() {
    write_images(folder_ / "train/cat", 3, 10);
    write_images(folder_ / "train/dog", 2, 100);
    write_images(folder_ / "test/cat", 1, 50);
    write_images(folder_ / "test/dog", 2, 150);
  }

  std::unique_ptr<RawDataset> survey(const SurveyOptions& more = {}) {
    std::unique_ptr<RawDataset> raw = recognise(folder_.path());
    SurveyOptions options = more;
    options.notice = [this](const std::string& text) { notices_ += text + "\n"; };
    raw->survey(options);
    return raw;
  }
  void expect_bad(std::string_view part) {
    expect_error(ErrorCode::data, part, [&] {
      const auto raw = survey();
      for (const SplitIndex split : kSplits) read_pixels(*raw, split);
    });
  }
  void put(const std::string& name, const std::string& content) const { write(folder_ / name, content); }
  static std::vector<int> labels(const RawDataset& raw, SplitIndex split) {
    const std::span values = raw.labels(split).values<std::uint8_t>();
    return {values.begin(), values.end()};
  }
  // The first value of each image, where all are 4 x 3 of three channels.
  static std::vector<int> values(RawDataset& raw, SplitIndex split) {
    std::vector<int> result;
    raw.read_images(split, {}, [&](const RawImage& image) { result.push_back(image.pixels[0]); });
    return result;
  }

  TemporaryDirectory folder_;
  std::string notices_;
};

TEST_F(ImageFolderTest, ReadsTrainAndTest) {
  const auto raw = survey();
  EXPECT_EQ(raw->classes(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(raw->sizes(), (ImageSizes{3, 3, 4, 4, 3}));
  EXPECT_EQ(labels(*raw, kTrain), (std::vector<int>{0, 0, 0, 1, 1}));
  EXPECT_EQ(labels(*raw, kTest), (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(values(*raw, kTrain), (std::vector<int>{10, 20, 30, 100, 110}));
  EXPECT_EQ(values(*raw, kTest), (std::vector<int>{50, 150, 160}));
  EXPECT_EQ(raw->test_choice(), "");
  EXPECT_EQ(raw->files().size(), 8u);
  EXPECT_EQ(notices_, "");
}

TEST_F(ImageFolderTest, GivesTheFilesAsTheyAre) {
  put("train/cat/9.jpg", jpeg_file({.width = 8, .height = 8}, std::string(192, 'x')));
  const auto raw = survey();
  EXPECT_EQ(raw->sizes(), (ImageSizes{3, 8, 4, 8, 3}));
  EXPECT_FALSE(raw->sizes().one());
  std::vector<std::string> files;
  raw->read_images(kTrain, {}, [&](const RawImage& image) {
    files.emplace_back(reinterpret_cast<const char*>(image.file.data()), image.file.size());
  });
  ASSERT_EQ(files.size(), 6u);
  EXPECT_EQ(files[1], read_file(folder_ / "train/cat/1.png"));
  EXPECT_EQ(files[3], read_file(folder_ / "train/cat/9.jpg"));
}

TEST_F(ImageFolderTest, MoreImagesThanAreDecodedAtOnce) {
  write_images(folder_ / "train/cat", 700, 0);
  std::int64_t last = 0;
  std::int64_t whole = 0;
  const auto raw = survey();
  std::int64_t sum = 0;
  raw->read_images(
      kTrain,
      [&](std::string_view, std::int64_t done, std::int64_t total) {
        EXPECT_GT(done, last);
        last = done;
        whole = total;
      },
      [&](const RawImage& image) { sum += image.pixels[0]; });
  // In the order of the names as bytes, of which there is only one sum.
  std::int64_t expected = 100 + 110;
  for (int i = 0; i < 700; ++i) expected += 10 * i % 256;
  EXPECT_EQ(sum, expected);
  EXPECT_EQ(last, whole);
}

TEST_F(ImageFolderTest, HoldsOutATestSetWhereThereIsNone) {
  fs::remove_all(folder_ / "test");
  write_images(folder_ / "train/cat", 10, 0);
  write_images(folder_ / "train/dog", 20, 1);
  const auto raw = survey();
  EXPECT_EQ(raw->labels(kTrain).size(0), 24);
  EXPECT_EQ(labels(*raw, kTest), (std::vector<int>{0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(raw->test_choice(), "a share of 0.2 of each class, drawn with seed 1");
  EXPECT_NE(notices_.find("has no test set: held out as one is a share of 0.2"), std::string::npos) << notices_;
  // Each image is in one of the two.
  std::vector<int> all = values(*raw, kTrain);
  std::ranges::copy(values(*raw, kTest), std::back_inserter(all));
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::unique(all).begin(), all.end());
  EXPECT_EQ(all.size(), 30u);
}

TEST_F(ImageFolderTest, TheHeldOutShareCanBeChosen) {
  const fs::path folder = folder_ / "train";
  write_images(folder / "cat", 10, 0);
  write_images(folder / "dog", 20, 1);
  const auto test_images = [&](double fraction, std::uint64_t seed) {
    const auto raw = recognise(folder);
    SurveyOptions options;
    options.test_fraction = fraction;
    options.seed = seed;
    raw->survey(options);
    return values(*raw, kTest);
  };
  EXPECT_EQ(test_images(0.5, 1).size(), 15u);
  EXPECT_EQ(test_images(0.5, 1), test_images(0.5, 1));
  EXPECT_NE(test_images(0.5, 1), test_images(0.5, 2));
  for (const double fraction : {0.0, -0.1, 1.0, std::numeric_limits<double>::quiet_NaN()})
    expect_error(ErrorCode::usage, "is not possible: above 0 and below 1", [&] { test_images(fraction, 1); });
  expect_error(ErrorCode::usage, "has no test set, and a test fraction of 0.001 holds out none of its 30 images",
               [&] { test_images(0.001, 1); });
  SurveyOptions options;
  options.test_fraction = 0.5;
  expect_error(ErrorCode::usage, "has a test set of its own", [&] { survey(options); });
}

TEST_F(ImageFolderTest, AValidationFolderServesAsTestSet) {
  fs::rename(folder_ / "test", folder_ / "val");
  EXPECT_EQ(labels(*survey(), kTest), (std::vector<int>{0, 1, 1}));
  write_images(folder_ / "test/cat", 1, 1);
  EXPECT_EQ(labels(*survey(), kTest), std::vector<int>{0});
  EXPECT_NE(notices_.find("not used: val"), std::string::npos) << notices_;
}

TEST_F(ImageFolderTest, NumberedClassesAreInTheOrderOfTheirNumbers) {
  fs::remove_all(folder_ / "train");
  fs::remove_all(folder_ / "test");
  for (const int name : {10, 9, 2, 0}) write_images(folder_ / std::to_string(name), 2, static_cast<std::uint8_t>(name));
  SurveyOptions options;
  options.test_fraction = 0.5;
  const auto raw = survey(options);
  EXPECT_EQ(raw->classes(), (std::vector<std::string>{"0", "2", "9", "10"}));
}

TEST_F(ImageFolderTest, GreyOnlyIfAllImagesAre) {
  for (const char* name : {"train/cat/0.png", "train/cat/1.png", "train/cat/2.png", "train/dog/0.png",
                           "train/dog/1.png", "test/cat/0.png", "test/dog/0.png"})
    put(name, plain_png(4, 3, 200, 1));
  EXPECT_EQ(survey()->sizes().channels, 3);
  EXPECT_EQ(read_pixels(*survey(), kTrain), std::string(5 * 4 * 3 * 3, '\xc8'));
  put("test/dog/1.png", plain_png(4, 3, 7, 1));
  EXPECT_EQ(survey()->sizes().channels, 1);
  EXPECT_EQ(read_pixels(*survey(), kTrain), std::string(5 * 4 * 3, '\xc8'));
}

TEST_F(ImageFolderTest, SixteenBitsAndAlphaBecomeEightBitsOnWhite) {
  PngOptions options{.width = 1, .height = 1, .bit_depth = 16, .colour_type = PNG_COLOR_TYPE_RGB_ALPHA, .palette = {}};
  fs::remove_all(folder_.path() / "train/dog");
  fs::remove_all(folder_.path() / "test/dog");
  write_images(folder_ / "train/cat", 3, 0, 1, 1);
  write_images(folder_ / "test/cat", 1, 0, 1, 1);
  put("train/cat/0.png", png_file(options, std::string("\x80\x80\x80\x80\x80\x80\xff\xff", 8)));
  put("train/cat/1.png", png_file(options, std::string("\x80\x80\x80\x80\x80\x80\x00\x00", 8)));
  EXPECT_EQ(read_pixels(*survey(), kTrain).substr(0, 6), "\x80\x80\x80\xff\xff\xff");
}

// Under "._" macOS keeps what is no image.
TEST_F(ImageFolderTest, PassesOverWhatIsNoImage) {
  put("train/cat/notes.txt", "x");
  put("train/cat/more.webp", "x");
  put("train/loose.png", plain_png(4, 3, 1));
  put("train/readme", "x");
  put("train/cat/._0.png", "x");
  fs::create_directory(folder_ / "train/.git");
  fs::create_directory(folder_ / "test/empty");
  EXPECT_EQ(survey()->labels(kTrain).size(0), 5);
  EXPECT_NE(notices_.find("3 files are ignored"), std::string::npos) << notices_;
}

TEST_F(ImageFolderTest, FollowsFoldersAndLinks) {
  write_images(folder_ / "elsewhere", 2, 200);
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "train/cat/a link");
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "train/eel");
  put("train/cat/DEEP.JPeG", jpeg_file({.width = 4, .height = 3}, std::string(36, 'x')));
  const auto raw = survey();
  EXPECT_EQ(raw->classes(), (std::vector<std::string>{"cat", "dog", "eel"}));
  EXPECT_EQ(labels(*raw, kTrain), (std::vector<int>{0, 0, 0, 0, 0, 0, 1, 1, 2, 2}));
}

TEST_F(ImageFolderTest, RejectsLinksThatLeadNowhere) {
  fs::create_directory_symlink(folder_ / "train", folder_ / "train/cat/loop");
  expect_bad("loop/cat: a link back to a folder that holds it");
  fs::remove(folder_ / "train/cat/loop");
  fs::create_symlink("nothing", folder_ / "train/cat/a.png");
  expect_bad("a.png: expected a file, found a link to nothing");
  fs::remove(folder_ / "train/cat/a.png");
  mkfifo((folder_ / "train/cat/a.png").c_str(), 0600);
  expect_bad("a.png: expected a file, found something else");
  fs::remove(folder_ / "train/cat/a.png");
  fs::create_symlink("a.png", folder_ / "train/cat/a.png");
  EXPECT_THROW(survey(), fs::filesystem_error);
}

TEST_F(ImageFolderTest, OddNamesAreNamesLikeOthers) {
  for (const char* name : {"with space.png", "new\nline.png", "\xff\xfe.png", "-rf.png", "%s{}.png", "quote'\".png"})
    put(std::string("train/cat/") + name, plain_png(4, 3, 9));
  EXPECT_EQ(survey()->labels(kTrain).size(0), 11);
  fs::create_directory(folder_ / "train/caf\xe9");
  expect_bad("class 0: expected a name of printable UTF-8");
}

TEST_F(ImageFolderTest, NamesTheImageThatIsDamaged) {
  const std::string whole = read_file(folder_ / "train/dog/1.png");
  put("train/dog/1.png", "");
  expect_bad("train/dog/1.png: expected a PNG or JPEG image, found an empty file");
  put("train/dog/1.png", "<!DOCTYPE html><html>");
  expect_bad("train/dog/1.png: expected a PNG or JPEG image, found an HTML page");
  put("train/dog/1.png", whole.substr(0, 20));
  expect_bad("train/dog/1.png: damaged PNG image");
  put("train/dog/1.png", whole.substr(0, whole.size() - 20));
  expect_bad("train/dog/1.png: damaged PNG image");
  flip_bit(folder_ / "train/dog/0.png", 45);
  put("train/dog/1.png", whole);
  expect_bad("train/dog/0.png: damaged PNG image");
}

TEST_F(ImageFolderTest, RejectsSizesThatNoImageHas) {
  std::string huge = plain_png(4, 3, 1);
  huge.replace(16, 8, std::string("\x00\x01\x00\x00\x00\x01\x00\x00", 8));
  put("train/dog/1.png", huge);
  expect_bad("train/dog/1.png: ");
  std::string jpeg = jpeg_file({.width = 8, .height = 8}, std::string(192, 'x'));
  const std::size_t frame = jpeg.find("\xff\xc0");
  jpeg.replace(frame + 5, 4, "\xf0\xf0\xf0\xf0");
  put("train/dog/1.png", jpeg);
  expect_bad("train/dog/1.png: image size: expected 1 to 67108864 pixels, found 61680x61680");
}

TEST_F(ImageFolderTest, RejectsClassesThatDoNotFit) {
  write_images(folder_ / "test/dogs", 1, 0);
  expect_bad(
      "test/dogs: a class of 1 test images that has no training images: expected one of cat, dog (did you mean "
      "'dog'?)");
  fs::remove_all(folder_ / "test/dogs");
  fs::create_directory(folder_ / "train/empty");
  expect_bad("train/empty: expected PNG or JPEG images of this class, found none");
  fs::remove(folder_ / "train/empty");
  for (int i = 0; i < 256; ++i) fs::create_directory(folder_ / fmt::format("train/{}", i));
  expect_bad("expected 1 to 256 classes, found 258");
}

TEST_F(ImageFolderTest, RejectsFoldersOfAnotherKind) {
  const TemporaryDirectory other;
  const auto expect_refused = [&](std::string_view part) {
    expect_error(ErrorCode::data, part, [&] { recognise(other.path()); });
  };
  expect_refused("found an empty folder");
  for (const char* name : {"a", "b", "c", "d", "e.csv"}) write(other / name, "x");
  expect_refused("found a, b, c, d, 1 more");
  write(other / "x.png", plain_png(4, 3, 1));
  expect_refused("expected a folder of images for each class, found the image x.png outside of one");
  fs::create_directories(other / "test/cat");
  expect_refused("expected a folder train beside test");
  fs::create_directories(other / "train");
  fs::remove(other / "x.png");
  expect_refused("expected four IDX files");
  write_images(other / "train/cat", 1, 0);
  expect_refused("test: expected PNG or JPEG images in a folder for each class, found none");
}

TEST_F(ImageFolderTest, ChangesBetweenThePassesAreErrors) {
  auto raw = survey();
  put("train/cat/1.png", plain_png(5, 3, 1));
  expect_error(ErrorCode::data, "train/cat/1.png: changed while it was read", [&] { read_pixels(*raw, kTrain); });
  fs::remove_all(folder_ / "train/cat");
  expect_error(ErrorCode::data, "cannot read", [&] { read_pixels(*raw, kTrain); });
  write_images(folder_ / "train/cat", 1, 0);
  raw = recognise(folder_.path());
  fs::remove_all(folder_.path());
  expect_error(ErrorCode::data, "cannot read", [&] { raw->survey({}); });
}

}  // namespace
}  // namespace lockring::data
