#include "data/dataset.h"

#include "core/files.h"
#include "data/catalog.h"
#include "data/dataset_store.h"
#include "data/ingest.h"
#include "tests/data/small_files.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

// The published set, which scripts/setup installs.
TEST(FashionMnist, IsIngestedAndLoaded) {
  const TemporaryDirectory folder;
  IngestOptions options;
  options.data_dir = folder.path();
  std::string notices;
  options.notice = [&](const std::string& text) { notices += text; };
  ingest(options);
  EXPECT_EQ(notices, "");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(ingest(options).already_there);
  const Dataset dataset = load_dataset(folder.path());
  // Tens of milliseconds; the limit allows for a busy machine and for sanitizers.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
  EXPECT_EQ(dataset.digest, find_known_dataset("fashion-mnist")->marks.digest);
  EXPECT_EQ(dataset.train.images->shape(), (Shape{60000, 28, 28, 1}));
  EXPECT_EQ(dataset.test.images->shape(), (Shape{10000, 28, 28, 1}));
  EXPECT_EQ(count_labels(dataset.train.labels, 10), std::vector<std::int64_t>(10, 6000));
  EXPECT_EQ(dataset.classes[9], "Ankle boot");
  EXPECT_NEAR(dataset.statistics.mean[0], 0.2860, 5e-5);
  EXPECT_NEAR(dataset.statistics.deviation[0], 0.3530, 5e-5);
  verify_dataset(folder.path());

  options.source = find_version(folder.path(), "fashion-mnist");
  options.name = "clothes";
  EXPECT_EQ(ingest(options).manifest.classes[9], "Ankle boot");
  EXPECT_NE(notices.find("the files are those of fashion-mnist, stored under the name clothes"), std::string::npos);
}

TEST(FashionMnist, OtherContentUnderItsNameIsNoticed) {
  const TemporaryDirectory folder;
  write_dataset(folder / "source", small_dataset());
  IngestOptions options;
  options.source = folder / "source";
  options.data_dir = folder / "data";
  std::string notices;
  options.notice = [&](const std::string& text) { notices += text; };
  ingest(options);
  EXPECT_NE(notices.find("this is not the published fashion-mnist"), std::string::npos) << notices;
}

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    write_dataset(folder_ / "source", small_dataset());
    IngestOptions options;
    options.source = folder_ / "source";
    options.name = "small";
    options.data_dir = data_dir_;
    directory_ = ingest(options).directory;
  }
  void expect_damaged(std::string_view part) {
    expect_error(ErrorCode::data, part, [&] { verify_dataset(data_dir_, "small"); });
  }

  TemporaryDirectory folder_;
  fs::path data_dir_ = folder_ / "data";
  fs::path directory_;
};

TEST_F(StoreTest, InfoReadsTheManifest) {
  const DatasetInfo info = dataset_info(data_dir_, "small");
  EXPECT_EQ(info.directory, directory_);
  EXPECT_EQ(info.manifest.sizes, (ImageSizes{6, 6, 5, 5, 1}));
  EXPECT_EQ(info.manifest.files[0].bytes, 16 + 30 * 6 * 5);
  ASSERT_EQ(info.versions.size(), 1u);
  EXPECT_EQ(info.versions[0].name, info.manifest.digest.substr(0, 16));
  EXPECT_TRUE(info.versions[0].current);
  EXPECT_EQ(info.manifest.ingested_utc.size(), std::string("2024-01-31T12:00:00Z").size());
}

TEST_F(StoreTest, VerifyNamesAllThatIsDamaged) {
  verify_dataset(data_dir_, "small");
  flip_bit(directory_ / kFileNames[0], 50, 3);
  expect_error(ErrorCode::data, "train-images-idx3-ubyte: damaged", [&] { load_dataset(data_dir_, "small"); });
  fs::resize_file(directory_ / kFileNames[1], 20);
  fs::remove(directory_ / kFileNames[2]);
  for (const char* part : {"train-images-idx3-ubyte: damaged: expected SHA-256", "train-labels-idx1-ubyte: truncated",
                           "t10k-images-idx3-ubyte: No such file", "ingest it again"})
    expect_damaged(part);
  expect_error(ErrorCode::data, "train-labels-idx1-ubyte: truncated", [&] { load_dataset(data_dir_, "small"); });
}

TEST_F(StoreTest, VerifyChecksTheDigest) {
  Manifest manifest = read_manifest(directory_);
  manifest.digest[0] = manifest.digest[0] == '0' ? '1' : '0';
  write_manifest(directory_, manifest);
  expect_damaged("the digest in the manifest is not that of the files");
}

TEST_F(StoreTest, RejectsADamagedManifest) {
  const std::string text = read_file(directory_ / "manifest.json");
  write(directory_ / "manifest.json", text.substr(0, text.size() / 2));
  expect_damaged("damaged manifest");
  write(directory_ / "manifest.json", "{\"format\": 2}");
  expect_damaged("damaged manifest");
  write(directory_ / "manifest.json", "{\"format\": 1}");
  expect_damaged("expected format 2, found 1");
}

TEST_F(StoreTest, RejectsAPointerToNothing) {
  for (const char* version : {"", "gone\n", "../small\n"}) {
    write(data_dir_ / "small" / "current", version);
    expect_error(ErrorCode::data, "expected the name of a stored version", [&] { load_dataset(data_dir_, "small"); });
  }
}

TEST_F(StoreTest, SaysHowToGetWhatIsNotThere) {
  expect_error(ErrorCode::data, "lockring data ingest --dataset smal", [&] { load_dataset(data_dir_, "smal"); });
  expect_error(ErrorCode::data, "did you mean 'small'?", [&] { load_dataset(data_dir_, "smal"); });
  expect_error(ErrorCode::usage, "data set name", [&] { load_dataset(data_dir_, "../small"); });
}

TEST(DefaultDataDir, FollowsXdg) {
  const std::string home = std::getenv("HOME");
  setenv("XDG_DATA_HOME", "/somewhere", 1);
  EXPECT_EQ(default_data_dir(), "/somewhere/lockring/data");
  setenv("XDG_DATA_HOME", "relative", 1);
  EXPECT_EQ(default_data_dir(), fs::path(home) / ".local/share/lockring/data");
  unsetenv("XDG_DATA_HOME");
  EXPECT_EQ(default_data_dir(), fs::path(home) / ".local/share/lockring/data");
}

}  // namespace
}  // namespace lockring::data
