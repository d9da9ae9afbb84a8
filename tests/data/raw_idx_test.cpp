#include "tests/data/raw_reading.h"
#include "tests/data/small_files.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

class RawIdxTest : public testing::Test {
 protected:
  std::unique_ptr<RawDataset> survey(const std::vector<std::string>& files, std::int64_t most_classes = 256) const {
    write_dataset(folder_.path(), files);
    std::unique_ptr<RawDataset> raw = find_idx_dataset(folder_.path());
    SurveyOptions options;
    options.most_classes = most_classes;
    raw->survey(options);
    return raw;
  }
  void expect_bad(const std::vector<std::string>& files, std::string_view part) const {
    expect_error(ErrorCode::data, part, [&] {
      const auto raw = survey(files, 10);
      for (const SplitIndex split : kSplits) read_pixels(*raw, split);
    });
  }
  void put(const std::string& name, const std::string& content) const { write(folder_ / name, content); }

  TemporaryDirectory folder_;
  std::vector<std::string> files_ = small_dataset();
};

TEST_F(RawIdxTest, ReadsTheFourFiles) {
  const auto raw = survey(files_);
  EXPECT_EQ(raw->sizes(), (ImageSizes{6, 6, 5, 5, 1}));
  EXPECT_EQ(raw->labels(kTrain).shape(), Shape{30});
  EXPECT_EQ(raw->labels(kTest).data<std::uint8_t>()[13], 3);
  EXPECT_TRUE(raw->classes().empty());
  EXPECT_EQ(raw->label_file().filename(), kFileNames[1]);
  EXPECT_EQ(read_pixels(*raw, kTrain), files_[0].substr(16));
  EXPECT_EQ(read_pixels(*raw, kTest), files_[2].substr(16));
}

TEST_F(RawIdxTest, ReadsColoursAndMoreImagesThanFitAtOnce) {
  const auto raw = survey({idx_file({100, 300, 200, 3}), label_file(100), idx_file({20, 300, 200, 3}), label_file(20)});
  EXPECT_EQ(raw->sizes(), (ImageSizes{300, 300, 200, 200, 3}));
  EXPECT_EQ(read_pixels(*raw, kTrain), idx_file({100, 300, 200, 3}).substr(20));
}

TEST_F(RawIdxTest, RejectsSwappedFiles) {
  auto files = files_;
  std::swap(files[0], files[1]);
  expect_bad(files, "train-images-idx3-ubyte: expected images (3 or 4 dimensions), found labels (1): swapped files?");
  files = files_;
  files[3] = files[2];
  expect_bad(files, "t10k-labels-idx1-ubyte: expected labels (1 dimension), found 3 dimensions");
  files = files_;
  std::swap(files[0], files[2]);
  std::swap(files[1], files[3]);
  expect_bad(files, "training and test files swapped?");
  files = files_;
  std::swap(files[0], files[2]);
  expect_bad(files, "files of different sets?");
}

TEST_F(RawIdxTest, RejectsCountsAndSizesThatDisagree) {
  auto files = files_;
  files[1] = label_file(29);
  expect_bad(files, "has 30 images but");
  files = files_;
  files[2] = idx_file({20, 5, 6});
  expect_bad(files, "has images of sizes [30, 6, 5] but");
  files[0] = idx_file({30, 30});
  expect_bad(files, "expected images of sizes");
  files[0] = idx_file({30, 2, 2, 5});
  expect_bad(files, "expected images of sizes");
}

TEST_F(RawIdxTest, RejectsLabelsOutOfRange) {
  files_[1][8 + 17] = 11;
  expect_bad(files_, "train-labels-idx1-ubyte: label 17 (counted from 0): expected 0 to 9, found 11");
  EXPECT_EQ(survey(files_, 256)->labels(kTrain).data<std::uint8_t>()[17], 11);
}

// Images are only read in the second pass.
TEST_F(RawIdxTest, RejectsImagesThatEndEarlyOrLate) {
  auto files = files_;
  files[0] += "x";
  expect_bad(files, "train-images-idx3-ubyte: expected the end at byte 916");
  files = files_;
  files[2] = gzip(files[2]);
  files[2].resize(files[2].size() - 4);
  expect_bad(files, "t10k-images-idx3-ubyte: gzip data ends in the middle");
  files = files_;
  files[2].resize(files[2].size() - 4);
  expect_bad(files, "t10k-images-idx3-ubyte: truncated");
}

TEST_F(RawIdxTest, FilesThatChangeBetweenThePassesAreAnError) {
  const auto raw = survey(files_);
  put(std::string(kFileNames[0]), idx_file({30, 5, 6}));
  expect_error(ErrorCode::data, "changed while it was read", [&] { read_pixels(*raw, kTrain); });
}

TEST_F(RawIdxTest, ClassesComeFromAFile) {
  put(kClassFile, "zero\none\r\n" + std::string("2\n3\n4\n5\n6\n7\n8\nnine\n\n"));
  const auto raw = survey(files_);
  ASSERT_EQ(raw->classes().size(), 10u);
  EXPECT_EQ(raw->classes()[1], "one");
  EXPECT_EQ(raw->files().size(), 5u);
  put(kClassFile, "zero\none\n");
  expect_bad(files_, "label 2 (counted from 0): expected 0 to 1, found 2");
  put(kClassFile, "zero\nzero\n");
  expect_bad(files_, "classes.txt: class 1: the name 'zero' is there twice");
}

TEST_F(RawIdxTest, AcceptsTheNamesThatPublishersUse) {
  put("train-images.idx3-ubyte", gzip(files_[0]));
  put("train-labels-idx1-ubyte.gz", gzip(files_[1]));
  put("test-images-idx3-ubyte", files_[2]);
  put("t10k-labels.idx1-ubyte", files_[3]);
  put("train-images-idx3-ubyte.gz.part", "x");
  const auto raw = find_idx_dataset(folder_.path());
  ASSERT_NE(raw, nullptr);
  raw->survey({});
  EXPECT_EQ(read_pixels(*raw, kTest), files_[2].substr(16));
}

TEST_F(RawIdxTest, ThePlainFileComesBeforeTheCompressedOne) {
  write_dataset(folder_.path(), small_dataset(1), true);
  EXPECT_EQ(read_pixels(*survey(files_), kTrain), files_[0].substr(16));
}

TEST_F(RawIdxTest, SeveralSetsInOneFolderAreToldApart) {
  const auto put_set = [&](const std::string& start, const std::vector<std::string>& files) {
    for (std::size_t i = 0; i < 4; ++i) put(start + std::string(kFileNames[i]), files[i]);
  };
  put_set("emnist-digits-", small_dataset(3));
  put_set("emnist-letters-", files_);
  expect_error(ErrorCode::data, "holds several sets, 'emnist-digits-...' and 'emnist-letters-...'",
               [&] { find_idx_dataset(folder_.path()); });
  const auto raw = find_idx_dataset(folder_ / "emnist-letters");
  ASSERT_NE(raw, nullptr);
  raw->survey({});
  EXPECT_EQ(read_pixels(*raw, kTrain), files_[0].substr(16));
  EXPECT_EQ(find_idx_dataset(folder_ / "emnist-mnist"), nullptr);
}

TEST_F(RawIdxTest, NamesWhatIsMissing) {
  EXPECT_EQ(find_idx_dataset(folder_.path()), nullptr);
  put("a-train-images-idx3-ubyte", files_[0]);
  put("a-t10k-images-idx3-ubyte", files_[2]);
  expect_error(ErrorCode::data, "missing a-train-labels-idx1-ubyte, a-t10k-labels-idx1-ubyte (plain or with .gz)",
               [&] { find_idx_dataset(folder_.path()); });
}

TEST_F(RawIdxTest, HasATestSetOfItsOwn) {
  write_dataset(folder_.path(), files_);
  SurveyOptions options;
  options.test_fraction = 0.1;
  expect_error(ErrorCode::usage, "has a test set of its own",
               [&] { find_idx_dataset(folder_.path())->survey(options); });
}

}  // namespace
}  // namespace lockring::data
