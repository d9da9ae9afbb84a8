#include "tests/data/raw_reading.h"
#include "tests/data/small_files.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

namespace lockring::data {
namespace {

constexpr std::size_t kPlane = 32 * 32;

// A record whose red, green and blue planes count up from `start`, twice and three times as fast.
std::string record(const std::string& labels, int start) {
  std::string bytes = labels;
  for (int plane = 1; plane <= 3; ++plane)
    for (std::size_t i = 0; i < kPlane; ++i) bytes += static_cast<char>(start + static_cast<int>(i) * plane);
  return bytes;
}

class RawCifarTest : public testing::Test {
 protected:
  RawCifarTest() {
    for (int batch = 1; batch <= 5; ++batch)
      put(fmt::format("data_batch_{}.bin", batch),
          record({static_cast<char>(batch)}, batch) + record("\1", 10 * batch));
    put("test_batch.bin", record("\3", 77));
    put("batches.meta.txt", "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n");
  }

  void put(const std::string& name, const std::string& content) const { write(folder_ / name, content); }
  std::unique_ptr<RawDataset> survey() const {
    std::unique_ptr<RawDataset> raw = find_cifar_dataset(folder_.path());
    raw->survey({});
    return raw;
  }
  void expect_bad(std::string_view part) const {
    expect_error(ErrorCode::data, part, [&] { survey(); });
  }

  TemporaryDirectory folder_;
};

TEST_F(RawCifarTest, ReadsAllBatchesAsInterleavedColours) {
  const auto raw = survey();
  EXPECT_EQ(raw->sizes(), (ImageSizes{32, 32, 32, 32, 3}));
  EXPECT_EQ(raw->classes()[9], "truck");
  EXPECT_EQ(raw->files().size(), 7u);
  const std::span labels = raw->labels(kTrain).values<std::uint8_t>();
  EXPECT_EQ(std::vector(labels.begin(), labels.end()), (std::vector<std::uint8_t>{1, 1, 2, 1, 3, 1, 4, 1, 5, 1}));
  const std::string pixels = read_pixels(*raw, kTrain);
  ASSERT_EQ(pixels.size(), 10 * 3 * kPlane);
  for (std::size_t i = 0; i < kPlane; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      ASSERT_EQ(pixels[(2 * kPlane + i) * 3 + c], static_cast<char>(2 + i * (c + 1)));  // the first of batch 2
  EXPECT_EQ(read_pixels(*raw, kTest).size(), 3 * kPlane);
}

TEST_F(RawCifarTest, KnowsTheClassesWithoutTheirFile) {
  std::filesystem::remove(folder_ / "batches.meta.txt");
  EXPECT_EQ(survey()->classes()[0], "airplane");
  put("batches.meta.txt", "airplane\n");
  expect_bad("batches.meta.txt: expected 10 classes, found 1");
}

TEST_F(RawCifarTest, NamesFileAndRecordOfWhatIsWrong) {
  put("data_batch_3.bin", record("\1", 0) + record("\n", 0));
  expect_bad("data_batch_3.bin: record 1 (counted from 0), byte 3073: expected a label from 0 to 9, found 10");
  put("data_batch_3.bin", record("\1", 0) + record("\1", 0).substr(0, 3072));
  expect_bad("data_batch_3.bin: expected records of 3073 bytes, found 6145 bytes: record 1 (counted from 0)");
  put("data_batch_3.bin", "");
  expect_bad("data_batch_3.bin: expected records of 3073 bytes, found 0");
  put("data_batch_3.bin", "<html>not found</html>");
  expect_bad("data_batch_3.bin: expected records");
}

TEST_F(RawCifarTest, NamesWhatIsMissing) {
  std::filesystem::remove(folder_ / "data_batch_4.bin");
  std::filesystem::remove(folder_ / "test_batch.bin");
  expect_error(ErrorCode::data, "missing data_batch_4.bin, test_batch.bin",
               [&] { find_cifar_dataset(folder_.path()); });
  const TemporaryDirectory empty;
  EXPECT_EQ(find_cifar_dataset(empty.path()), nullptr);
}

TEST_F(RawCifarTest, ChangesBetweenThePassesAreAnError) {
  const auto raw = survey();
  put("data_batch_1.bin", record("\1", 0));
  put("data_batch_2.bin", record("\7", 0));
  expect_error(ErrorCode::data, "data_batch_2.bin: changed while it was read, at record 0",
               [&] { read_pixels(*raw, kTrain); });
}

// Two labels a record: coarse and fine.
TEST(RawCifar100, TakesTheFineLabels) {
  const TemporaryDirectory folder;
  write(folder / "train.bin", record({3, 99}, 5) + record({0, 7}, 6));
  write(folder / "test.bin", record({1, 7}, 8));
  const auto raw = recognise(folder.path());
  raw->survey({});
  EXPECT_EQ(raw->labels(kTrain).data<std::uint8_t>()[0], 99);
  EXPECT_EQ(read_pixels(*raw, kTest)[0], 8);
  EXPECT_TRUE(raw->classes().empty());
}

}  // namespace
}  // namespace lockring::data
