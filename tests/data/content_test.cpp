#include "data/content.h"

#include "core/files.h"
#include "tests/data/small_files.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <utility>

namespace lockring::data {
namespace {

class ContentTest : public testing::Test {
 protected:
  Content read(const std::vector<std::string>& files) {
    write_dataset(folder_.path(), files);
    FilePaths paths;
    for (std::size_t i = 0; i < paths.size(); ++i) paths[i] = folder_.path() / kFileNames[i];
    return read_content(paths, 10);
  }
  void expect_bad(const std::vector<std::string>& files, std::string_view part) {
    expect_error(ErrorCode::data, part, [&] { read(files); });
  }

  TemporaryDirectory folder_;
  std::vector<std::string> files_ = small_dataset();
};

TEST_F(ContentTest, ReadsTheFourFiles) {
  const Content content = read(files_);
  EXPECT_EQ(content[0].shape(), (Shape{30, 6, 5}));
  EXPECT_EQ(content[3].shape(), (Shape{20}));
  EXPECT_EQ(as_images(content[2]).shape(), (Shape{20, 6, 5, 1}));
}

TEST_F(ContentTest, DigestIsThatOfTheFilesInARow) {
  const Content content = read(files_);
  EXPECT_EQ(content_digest(content), sha256(files_[0] + files_[1] + files_[2] + files_[3]));
  EXPECT_EQ(file_checksum(content[1]), sha256(files_[1]));
}

TEST_F(ContentTest, RejectsSwappedFiles) {
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

TEST_F(ContentTest, RejectsCountsAndSizesThatDisagree) {
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

TEST_F(ContentTest, RejectsLabelsOutOfRange) {
  files_[1][8 + 17] = 11;
  expect_bad(files_, "train-labels-idx1-ubyte: label 17 (counted from 0): expected 0 to 9, found 11");
}

TEST_F(ContentTest, CountsLabels) {
  const Content content = read(files_);
  EXPECT_EQ(count_labels(content[3], 10), std::vector<std::int64_t>(10, 2));
}

TEST(ChannelStatistics, AreExactByChannel) {
  // Two pixels of two channels: 0 and 255; 51 and 51.
  const std::vector<std::uint8_t> pixels = {0, 51, 255, 51};
  const auto statistics = channel_statistics(Tensor::from(std::span<const std::uint8_t>(pixels), {1, 1, 2, 2}));
  EXPECT_EQ(statistics.mean, (std::vector<float>{0.5f, 0.2f}));
  EXPECT_EQ(statistics.deviation, (std::vector<float>{0.5f, 0.0f}));
}

}  // namespace
}  // namespace lockring::data
