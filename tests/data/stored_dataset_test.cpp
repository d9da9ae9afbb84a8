#include "data/stored_dataset.h"

#include "core/files.h"
#include "data/ingest.h"
#include "tests/data/small_files.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

namespace lockring::data {
namespace {

class StoredDatasetTest : public testing::Test {
 protected:
  StoredDatasetTest() {
    write_dataset(folder_ / "source", small_dataset());
    IngestOptions options;
    options.source = folder_ / "source";
    options.name = "small";
    options.data_dir = data_dir_;
    directory_ = ingest(options).directory;
  }
  void expect_damaged(std::string_view part) const {
    expect_error(ErrorCode::data, part, [&] { open_dataset(data_dir_, "small"); });
  }

  TemporaryDirectory folder_;
  std::filesystem::path data_dir_ = folder_ / "data";
  std::filesystem::path directory_;
};

TEST_F(StoredDatasetTest, OpensBothSplits) {
  const StoredDataset dataset = open_dataset(data_dir_, "small");
  EXPECT_EQ(dataset.directory, directory_);
  EXPECT_EQ(dataset.train.images->shape(), (Shape{30, 6, 5, 1}));
  EXPECT_EQ(dataset.test.images->shape(), (Shape{20, 6, 5, 1}));
  EXPECT_EQ(dataset.train.encoded, nullptr);
  EXPECT_EQ(dataset.test.labels.data<std::uint8_t>()[13], 3);
  std::uint8_t pixels[30];
  EXPECT_EQ(dataset.test.images->image(2, pixels)[1], static_cast<std::uint8_t>((2 * 30 + 1) * 3));
}

TEST_F(StoredDatasetTest, ChecksLabelsAndSizes) {
  flip_bit(directory_ / kFileNames[1], 20);
  expect_damaged("train-labels-idx1-ubyte: damaged: expected SHA-256");
  flip_bit(directory_ / kFileNames[1], 20);
  write(directory_ / kFileNames[2], idx_file({20, 5, 6}));
  expect_damaged("t10k-images-idx3-ubyte: expected images [20, 6, 5, 1], found [20, 5, 6, 1]");
  write(directory_ / kFileNames[2], idx_file({19, 6, 5}));
  expect_damaged("found [19, 6, 5, 1]");
}

TEST_F(StoredDatasetTest, ReadsAWholeFileWithItsChecksum) {
  const StoredFile file = open_dataset(data_dir_, "small").manifest.files[0];
  EXPECT_EQ(read_stored_idx(directory_, file).shape(), (Shape{30, 6, 5}));
  flip_bit(directory_ / file.name, 500);
  expect_error(ErrorCode::data, "train-images-idx3-ubyte: damaged", [&] { read_stored_idx(directory_, file); });
}

// A manifest may be written by anyone.
TEST_F(StoredDatasetTest, RejectsAManifestThatDoesNotFit) {
  const auto expect_bad_manifest = [&](const auto& change) {
    Manifest manifest = read_manifest(directory_);
    const std::string saved = read_file(directory_ / "manifest.json");
    change(manifest);
    write_manifest(directory_, manifest);
    expect_damaged("damaged manifest");
    write(directory_ / "manifest.json", saved);
  };
  expect_bad_manifest([](Manifest& manifest) { manifest.files.resize(3); });
  expect_bad_manifest([](Manifest& manifest) { manifest.files[0].name = "../" + manifest.files[0].name; });
  expect_bad_manifest([](Manifest& manifest) { manifest.classes.pop_back(); });
  expect_bad_manifest([](Manifest& manifest) { manifest.sizes.channels = 0; });
  expect_bad_manifest([](Manifest& manifest) { manifest.statistics.mean.clear(); });
}

}  // namespace
}  // namespace lockring::data
