#include "data/cache_entries.h"
#include "data/dataset.h"
#include "data/dataset_store.h"
#include "data/fronted_images.h"
#include "data/image_cache.h"
#include "data/ingest.h"
#include "data/sampler.h"
#include "data/stored_dataset.h"
#include "data/transform.h"
#include "tests/data/numbered_images.h"
#include "tests/data/small_files.h"
#include "tests/data/small_folders.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

// 30 + 20 grey images of 6 x 5 in IDX files, and 24 coloured ones of three sizes in folders.
class LoadDatasetTest : public testing::Test {
 protected:
  LoadDatasetTest() {
    write_dataset(folder_ / "idx", small_dataset());
    store("one-size", folder_ / "idx");
    options_.cache_dir = folder_ / "cache";
    options_.notice = [this](const std::string& text) { notices_.push_back(text); };
  }
  void store_many_sizes() const {
    for (const char* split : {"train", "test"})
      for (const char* name : {"cat", "dog"}) {
        const fs::path folder = folder_ / "sizes" / split / name;
        write_images(folder / "small", 2, 10);
        write_images(folder / "large", 2, 90, 20, 30);
        write_images(folder / "wide", 2, 170, 40, 5);
        int number = 0;
        for (const char* size : {"small", "large", "wide"}) {
          for (const char* file : {"0.png", "1.png"})
            fs::rename(folder / size / file, folder / fmt::format("{}.png", number++));
          fs::remove(folder / size);
        }
      }
    store("many-sizes", folder_ / "sizes");
  }
  void store(const std::string& name, const fs::path& source) const {
    IngestOptions options;
    options.source = source;
    options.name = name;
    options.data_dir = data_dir_;
    ingest(options);
  }
  Dataset load(const std::string& name) { return load_dataset(data_dir_, name, options_); }

  // The images of a split of one-size or of many-sizes after the front, computed here.
  std::shared_ptr<const ImageStore> expected(const std::string& name, bool train) const {
    const StoredDataset stored = open_dataset(data_dir_, name);
    const StoredSplit& split = train ? stored.train : stored.test;
    return split.images != nullptr ? with_front(split.images, options_.front)
                                   : with_front(split.encoded, options_.front);
  }
  void expect_right(const std::string& name, const Dataset& dataset, Access train, Access test) const {
    EXPECT_TRUE(same_images(*dataset.train.images, *expected(name, true)));
    EXPECT_TRUE(same_images(*dataset.test.images, *expected(name, false)));
    EXPECT_EQ(dataset.train.images->access(), train);
    EXPECT_EQ(dataset.test.images->access(), test);
    const ChannelStatistics statistics = hold_images(*expected(name, true)).statistics;
    EXPECT_EQ(dataset.statistics.mean, statistics.mean);
    EXPECT_EQ(dataset.statistics.deviation, statistics.deviation);
  }
  std::size_t cached() const { return list_cache(options_.cache_dir).size(); }

  TemporaryDirectory folder_;
  const fs::path data_dir_ = folder_ / "data";
  LoadOptions options_;
  std::vector<std::string> notices_;
};

constexpr std::int64_t kTrainBytes = 30 * 6 * 5;
constexpr std::int64_t kTestBytes = 20 * 6 * 5;

TEST_F(LoadDatasetTest, UnchangedImagesLieInMemoryOrInTheirFile) {
  for (const auto& [memory, train, test] : {std::tuple{kTrainBytes + kTestBytes, Access::memory, Access::memory},
                                            {kTrainBytes + kTestBytes - 1, Access::memory, Access::disk},
                                            {kTrainBytes - 1, Access::disk, Access::memory},
                                            {kTestBytes - 1, Access::disk, Access::disk},
                                            {std::int64_t{0}, Access::disk, Access::disk}}) {
    options_.memory = memory;
    expect_right("one-size", load("one-size"), train, test);
  }
  EXPECT_EQ(cached(), 0u);
}

// What changes nothing is no reason to make anything.
TEST_F(LoadDatasetTest, AFrontThatLeavesImagesAsTheyAreIsNone) {
  options_.front = {.height = 6, .width = 5, .grayscale = true};
  options_.memory = 0;
  expect_right("one-size", load("one-size"), Access::disk, Access::disk);
  EXPECT_EQ(cached(), 0u);
}

TEST_F(LoadDatasetTest, ChangedImagesLieInMemoryOrInTheCache) {
  options_.front = {.height = 9, .width = 8};
  expect_right("one-size", load("one-size"), Access::memory, Access::memory);
  EXPECT_EQ(cached(), 0u);
  options_.memory = 30 * 9 * 8;
  expect_right("one-size", load("one-size"), Access::memory, Access::disk);
  EXPECT_EQ(cached(), 1u);
  options_.memory = 0;
  for (int i = 0; i < 2; ++i) expect_right("one-size", load("one-size"), Access::disk, Access::disk);
  EXPECT_EQ(cached(), 2u);
  EXPECT_EQ(notices_, std::vector<std::string>());
}

TEST_F(LoadDatasetTest, WithoutADiskCacheImagesAreComputed) {
  store_many_sizes();
  options_.front = {.height = 9, .width = 8};
  options_.memory = 0;
  options_.cache_dir = "/dev/null/cache";
  expect_right("one-size", load("one-size"), Access::computed, Access::computed);
  expect_right("many-sizes", load("many-sizes"), Access::computed, Access::computed);
  EXPECT_EQ(notices_.size(), 2u);  // one for each that was loaded
  options_.memory = 1 << 20;
  expect_right("many-sizes", load("many-sizes"), Access::memory, Access::memory);
}

TEST_F(LoadDatasetTest, DecodedImagesAreCachedEvenIfTheyFitIntoMemory) {
  store_many_sizes();
  options_.front = {.height = 4, .width = 4, .grayscale = true};
  for (int i = 0; i < 2; ++i) expect_right("many-sizes", load("many-sizes"), Access::memory, Access::memory);
  EXPECT_EQ(cached(), 2u);
  options_.memory = 0;
  expect_right("many-sizes", load("many-sizes"), Access::disk, Access::disk);
  EXPECT_EQ(cached(), 2u);
}

TEST_F(LoadDatasetTest, OnlyWhatIsNeededIsPrepared) {
  store_many_sizes();
  options_.front = {.height = 4, .width = 4};
  options_.train = false;
  options_.memory = 0;
  std::vector<std::string> progress;
  options_.progress = [&](std::string_view split, std::int64_t done, std::int64_t total) {
    progress.push_back(fmt::format("{} {} of {}", split, done, total));
  };
  const Dataset dataset = load("many-sizes");
  EXPECT_EQ(dataset.train.images, nullptr);
  EXPECT_EQ(dataset.train.size(), 12);
  EXPECT_TRUE(dataset.statistics.mean.empty());
  EXPECT_TRUE(same_images(*dataset.test.images, *expected("many-sizes", false)));
  EXPECT_EQ(cached(), 1u);
  EXPECT_EQ(progress, (std::vector<std::string>{"test 0 of 12", "test 12 of 12"}));
}

TEST_F(LoadDatasetTest, ImagesOfManySizesNeedAResize) {
  store_many_sizes();
  expect_error(ErrorCode::usage, "have many sizes, from 3x4 to 30x40: they need a resize to one",
               [&] { load("many-sizes"); });
}

TEST_F(LoadDatasetTest, DamageIsFoundWhereverTheImagesLie) {
  const fs::path file = find_version(data_dir_, "one-size") / "train-images-idx3-ubyte";
  flip_bit(file, 500);
  for (const std::int64_t memory : {0, 1 << 20})
    for (const std::int64_t height : {0, 9}) {
      options_.memory = memory;
      options_.front = {.height = height, .width = height};
      expect_error(ErrorCode::data, "train-images-idx3-ubyte: damaged", [&] { load("one-size"); });
    }
  EXPECT_EQ(cached(), 0u);
}

// A hit does not look at the images that the cache was made from; a damaged image of the cache does.
TEST_F(LoadDatasetTest, DamageInTheCacheIsRepairedFromTheDataSet) {
  options_.front = {.height = 9, .width = 8};
  options_.memory = 0;
  load("one-size");
  const Manifest manifest = read_manifest(find_version(data_dir_, "one-size"));
  const CacheKey key{.digest = manifest.digest, .split = "train", .front = "resize:9x8"};
  flip_bit(cache_path(options_.cache_dir, key), 64 + 3 * 9 * 8 + 1);
  expect_right("one-size", load("one-size"), Access::disk, Access::disk);
  EXPECT_EQ(notices_.size(), 1u);
  EXPECT_EQ(cached(), 1u);
  notices_.clear();
  expect_right("one-size", load("one-size"), Access::disk, Access::disk);
  EXPECT_EQ(notices_.size(), 0u);
}

TEST_F(LoadDatasetTest, OtherContentUnderTheSameNameIsNotTakenFromTheCache) {
  options_.front = {.height = 9, .width = 8};
  options_.memory = 0;
  load("one-size");
  write_dataset(folder_ / "changed", small_dataset(1));
  store("one-size", folder_ / "changed");
  expect_right("one-size", load("one-size"), Access::disk, Access::disk);
  EXPECT_EQ(cached(), 4u);
}

// Four epochs of one sample differ, and are those that images in memory give: the cache holds nothing random.
TEST_F(LoadDatasetTest, RandomPartsAreNotCached) {
  const Transform transform = Transform::parse("resize:9x8,normalize:0.5:0.5,crop:2,flip,erase:0.5");
  options_.front = transform.front();
  const Dataset in_memory = load("one-size");
  options_.memory = 0;
  const Dataset in_cache = load("one-size");
  const std::vector<std::uint32_t> samples = all_samples(30);
  std::vector<std::vector<float>> epochs;
  for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
    Batch one = Batch::empty({9, 8, 1}, 30, false);
    Batch other = Batch::empty({9, 8, 1}, 30, false);
    transform.fill(in_memory.train, samples, {0, 30}, 1, epoch, one);
    transform.fill(in_cache.train, samples, {0, 30}, 1, epoch, other);
    EXPECT_TRUE(std::ranges::equal(one.images.values(), other.images.values()));
    const std::span first = other.images.values().first(72);
    epochs.emplace_back(first.begin(), first.end());
  }
  std::ranges::sort(epochs);
  EXPECT_EQ(std::ranges::adjacent_find(epochs), epochs.end());
}

}  // namespace
}  // namespace lockring::data
