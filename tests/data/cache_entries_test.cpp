#include "data/cache_entries.h"

#include "data/file_lock.h"
#include "data/image_cache.h"
#include "tests/data/numbered_images.h"
#include "tests/data/small_files.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

class CacheEntriesTest : public testing::Test {
 protected:
  static CacheKey key(const std::string& front, const std::string& split = "train", char digest = 'a') {
    return {.digest = std::string(64, digest), .split = split, .front = front};
  }
  HeldImages make(const CacheKey& key) const {
    ImageCache cache({folder_.path(), {}});
    return *cache.find_or_make(key, "small", [] { return std::make_shared<NumberedImages>(5, Shape{4, 4, 1}); });
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    for (const CacheEntry& entry : list_cache(folder_.path())) keys.push_back(entry.key);
    return keys;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  TemporaryDirectory folder_;
};

TEST_F(CacheEntriesTest, AreListedWithWhatTheyHold) {
  EXPECT_TRUE(list_cache(folder_ / "missing").empty());
  make(key("resize:4"));
  write(folder_ / "0123456789abcdef.images", "damaged");
  write(folder_ / "notes.txt", "not ours");
  fs::copy_file(cache_path(folder_.path(), key("resize:4")), folder_ / "fedcba9876543210.images");
  const std::vector<CacheEntry> entries = list_cache(folder_.path());
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_TRUE(std::ranges::is_sorted(entries, {}, &CacheEntry::key));
  for (const CacheEntry& entry : entries) {
    EXPECT_EQ(entry.bytes, static_cast<std::int64_t>(fs::file_size(entry.path)));
    EXPECT_NEAR(static_cast<double>(entry.last_used), static_cast<double>(std::time(nullptr)), 60);
    EXPECT_FALSE(entry.in_use);
    if (entry.key == key("resize:4").name()) {
      EXPECT_EQ(entry.damage, "");
      ASSERT_TRUE(entry.info.has_value());
      EXPECT_EQ(entry.info->key, key("resize:4"));
    } else {
      EXPECT_FALSE(entry.info.has_value());
      EXPECT_NE(entry.damage, "");
    }
  }
}

TEST_F(CacheEntriesTest, LastUseIsWhenItWasLastOpened) {
  make(key("resize:4"));
  const fs::path path = cache_path(folder_.path(), key("resize:4"));
  fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(48));
  const std::time_t before = list_cache(folder_.path())[0].last_used;
  make(key("resize:4"));
  EXPECT_GT(list_cache(folder_.path())[0].last_used, before + 47 * 3600);
}

TEST_F(CacheEntriesTest, OneInUseStays) {
  const CacheKey free = key("resize:4");
  const CacheKey used = key("resize:5");
  make(free);
  {
    const HeldImages images = make(used);
    for (const CacheEntry& entry : list_cache(folder_.path())) {
      EXPECT_EQ(entry.in_use, entry.key == used.name());
      EXPECT_EQ(remove_cache_entry(entry), entry.key == free.name());
    }
    EXPECT_EQ(keys(), std::vector<std::string>{used.name()});
  }
  EXPECT_TRUE(remove_cache_entry(list_cache(folder_.path())[0]));
  EXPECT_TRUE(keys().empty());
}

TEST_F(CacheEntriesTest, WhatIsGoneCountsAsRemoved) {
  make(key("resize:4"));
  const std::vector<CacheEntry> entries = list_cache(folder_.path());
  EXPECT_TRUE(remove_cache_entry(entries[0]));
  EXPECT_TRUE(remove_cache_entry(entries[0]));
}

TEST_F(CacheEntriesTest, LeftoversGoButWhatIsBeingMadeStays) {
  make(key("resize:4"));
  write(folder_ / "0123456789abcdef.lock", "");
  write(folder_ / "0123456789abcdef.images.tmp.17.0", "half");
  write(folder_ / "00000000000000aa.images.tmp.17.0", "half, without a lock");
  write(folder_ / "fedcba9876543210.images.tmp.18.0", "half");
  write(folder_ / "other.tmp.5", "not ours");
  {
    const FileLock lock(folder_ / "fedcba9876543210.lock");
    remove_cache_leftovers(folder_.path());
    EXPECT_TRUE(fs::exists(folder_ / "fedcba9876543210.images.tmp.18.0"));
    EXPECT_TRUE(fs::exists(folder_ / "fedcba9876543210.lock"));
    EXPECT_EQ(files(), 5u);  // with the entry, its lock and what is not ours
  }
  remove_cache_leftovers(folder_.path());
  EXPECT_EQ(files(), 3u);
  EXPECT_TRUE(fs::exists(folder_ / "other.tmp.5"));
  remove_cache_leftovers(folder_ / "missing");
}

TEST_F(CacheEntriesTest, AMissNamesTheNearestEntry) {
  EXPECT_EQ(look_up({}, key("resize:4")).nearest, nullptr);
  make(key("resize:4"));
  make(key("resize:4", "test"));
  make(key("resize:8", "train", 'b'));
  write(folder_ / "0123456789abcdef.images", "damaged");
  const std::vector<CacheEntry> entries = list_cache(folder_.path());
  using Parts = std::vector<std::string>;

  const CacheLookup hit = look_up(entries, key("resize:4"));
  ASSERT_NE(hit.entry, nullptr);
  EXPECT_EQ(hit.entry->info->key, key("resize:4"));
  EXPECT_EQ(hit.nearest, nullptr);

  const auto expect_miss = [&](const CacheKey& wanted, const CacheKey& nearest, const Parts& differs) {
    const CacheLookup miss = look_up(entries, wanted);
    EXPECT_EQ(miss.entry, nullptr);
    ASSERT_NE(miss.nearest, nullptr);
    EXPECT_EQ(miss.nearest->info->key, nearest);
    EXPECT_EQ(miss.differs, differs);
  };
  expect_miss(key("resize:5"), key("resize:4"), {"front"});
  expect_miss(key("resize:5", "test"), key("resize:4", "test"), {"front"});
  expect_miss(key("resize:4", "train", 'c'), key("resize:4"), {"data"});
  expect_miss(key("resize:8", "test", 'b'), key("resize:8", "train", 'b'), {"split"});
  CacheKey older = key("resize:4");
  older.format = 0;
  expect_miss(older, key("resize:4"), {"format"});
}

}  // namespace
}  // namespace lockring::data
