#include "data/dataset.h"
#include "data/file_lock.h"
#include "data/ingest.h"
#include "data/transform.h"
#include "tests/apps/captured_run.h"
#include "tests/data/small_files.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>

namespace lockring::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// Runs the commands beside a small data set of 30 + 20 images of 6 x 5.
class DataCacheTest : public testing::Test {
 protected:
  DataCacheTest() { store(0); }

  void store(int variant) const {
    const fs::path source = directory_ / fmt::format("raw {}", variant);
    data::write_dataset(source, data::small_dataset(variant));
    data::IngestOptions options;
    options.source = source;
    options.name = "small";
    options.data_dir = directory_ / "store";
    data::ingest(options);
  }
  // Makes the entries of a front, as a run would.
  void prepare(const std::string& front) const {
    data::LoadOptions options;
    options.front = data::Transform::parse(front).front();
    options.memory = 0;
    options.cache_dir = cache_;
    data::load_dataset(directory_ / "store", "small", options);
  }

  CapturedRun run(const std::string& command, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"data", "cache", command, "--cache-dir", cache_.string()};
    if (command != "clear") arguments.insert(arguments.end(), {"--data-dir", (directory_ / "store").string()});
    const bool named = std::ranges::count(more, "--dataset") > 0;
    if (command == "why" && !named) arguments.insert(arguments.end(), {"--dataset", "small"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return captured_run(arguments);
  }
  Json json(const std::string& command, std::vector<std::string> more = {}) const {
    more.emplace_back("--json");
    const CapturedRun done = run(command, more);
    EXPECT_EQ(done.code, 0) << done.err;
    return Json::parse(done.out);
  }
  Json entries() const { return json("ls")["entries"]; }
  static void expect_refused(const CapturedRun& done, int code, const std::string& part) {
    EXPECT_EQ(done.code, code);
    EXPECT_EQ(done.out, "");
    EXPECT_NE(done.err.find(part), std::string::npos) << done.err;
  }

  TemporaryDirectory directory_;
  const fs::path cache_ = directory_ / "cache";
};

TEST_F(DataCacheTest, ListsWhatIsKept) {
  EXPECT_EQ(json("ls")["entries"], Json::array());
  EXPECT_NE(run("ls").out.find("0 entries, 0 B"), std::string::npos);
  prepare("resize:9x8");
  const Json list = json("ls");
  EXPECT_EQ(list["directory"], cache_.string());
  ASSERT_EQ(list["entries"].size(), 2u);
  std::int64_t bytes = 0;
  for (const Json& entry : list["entries"]) {
    bytes += entry["bytes"].get<std::int64_t>();
    EXPECT_EQ(entry["dataset"], "small");
    EXPECT_EQ(entry["front"], "resize:9x8");
    EXPECT_EQ(entry["current"], true);
    EXPECT_EQ(entry["state"], "current");
    EXPECT_EQ(entry["in_use"], false);
    EXPECT_EQ(entry["shape"], (Json{entry["split"] == "train" ? 30 : 20, 9, 8, 1}));
    EXPECT_EQ(entry["last_used_utc"].get<std::string>().size(), std::string("2024-01-31T12:00:00Z").size());
    EXPECT_TRUE(fs::exists(entry["path"].get<std::string>()));
  }
  EXPECT_EQ(list["bytes"], bytes);
  const std::string text = run("ls").out;
  EXPECT_NE(text.find("2 entries"), std::string::npos) << text;
  EXPECT_NE(text.find("resize:9x8"), std::string::npos) << text;
}

TEST_F(DataCacheTest, SaysWhatAnEntryIsWorth) {
  prepare("resize:9x8");
  const std::string first = entries()[0]["key"];
  store(1);
  for (const Json& entry : entries()) EXPECT_EQ(entry["state"], "of other data");
  prepare("resize:9x8");
  EXPECT_EQ(entries().size(), 4u);
  fs::remove_all(directory_ / "store" / "small");
  for (const Json& entry : entries()) {
    EXPECT_EQ(entry["state"], "its data set is gone");
    EXPECT_EQ(entry["current"], false);
  }
  const fs::path path = cache_ / (first + ".images");
  fs::resize_file(path, fs::file_size(path) - 1);
  const Json list = entries();
  const auto damaged = std::ranges::find_if(list, [&](const Json& entry) { return entry["key"] == first; });
  EXPECT_EQ((*damaged)["state"], "damaged");
  EXPECT_NE((*damaged)["damage"].get<std::string>().find("truncated or damaged"), std::string::npos);
  EXPECT_NE(run("ls").out.find("truncated or damaged"), std::string::npos);
}

TEST_F(DataCacheTest, ClearsAllOrWhatIsNamed) {
  EXPECT_EQ(json("clear")["removed"], Json::array());
  prepare("resize:9x8");
  prepare("resize:7");
  const Json before = entries();
  const std::string key = before[1]["key"];
  EXPECT_EQ(json("clear", {key.substr(0, 9)})["removed"], Json{key});
  EXPECT_EQ(entries().size(), 3u);
  expect_refused(run("clear", {key}), 3, "expected one entry that starts with '" + key + "'");
  expect_refused(run("clear", {"ghost"}), 3, "found 0");
  expect_refused(run("clear", {""}), 3, "found 0");
  EXPECT_EQ(entries().size(), 3u);
  const Json cleared = json("clear");
  EXPECT_EQ(cleared["removed"].size(), 3u);
  EXPECT_GT(cleared["bytes"], 0);
  EXPECT_TRUE(fs::is_empty(cache_));
}

TEST_F(DataCacheTest, ClearsWhatWasNotUsedForLong) {
  prepare("resize:9x8");
  const std::string old = entries()[0]["key"];
  const fs::path path = cache_ / (old + ".images");
  fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(49));
  EXPECT_EQ(json("clear", {"--older-than", "3d"})["removed"], Json::array());
  EXPECT_EQ(json("clear", {"--older-than", "2d"})["removed"], Json{old});
  EXPECT_EQ(json("clear", {"--older-than", "0s"})["removed"].size(), 1u);
  for (const char* time : {"", "5", "d", "-1d", "1.5h", "2w", "3dd"})
    expect_refused(run("clear", {std::string("--older-than=") + time}), 2, "--older-than");
  expect_refused(run("clear", {"--older-than", "99999999999999999d"}), 2, "is out of range");
}

TEST_F(DataCacheTest, WhatIsInUseStays) {
  prepare("resize:9x8");
  const std::string used = entries()[0]["key"];
  const data::UseLock lock(cache_ / (used + ".images"));
  EXPECT_EQ(entries()[0]["in_use"], true);
  EXPECT_NE(run("ls").out.find("current, in use"), std::string::npos);
  const Json cleared = json("clear");
  EXPECT_EQ(cleared["removed"].size(), 1u);
  EXPECT_EQ(cleared["kept_because_in_use"], Json{used});
  EXPECT_NE(run("clear").out.find("in use and kept: " + used), std::string::npos);
  EXPECT_EQ(entries().size(), 1u);
}

TEST_F(DataCacheTest, SaysWhyAnEntryIsNotThere) {
  const std::vector<std::string> asked = {"--augment", "flip,resize:9x8", "--cache-memory", "0"};
  Json why = json("why", asked);
  EXPECT_EQ(why["front"], "resize:9x8");
  for (const Json& split : why["splits"]) {
    EXPECT_EQ(split["result"], "MISS");
    EXPECT_EQ(split["reason"], "there is no entry at all");
    EXPECT_EQ(split["needed"], true);
  }
  prepare("resize:9x8");
  why = json("why", asked);
  for (const Json& split : why["splits"]) {
    EXPECT_EQ(split["result"], "HIT");
    EXPECT_EQ(split["reason"], "");
    EXPECT_EQ(split["use"], "a run uses the entry and reads the images from it one by one");
  }
  EXPECT_EQ(why["splits"][0]["images"], 30);
  EXPECT_EQ(why["splits"][1]["bytes"], 20 * 9 * 8);
  EXPECT_NE(run("why", asked).out.find("train  HIT "), std::string::npos);

  why = json("why", {"--augment", "resize:9x7,grayscale", "--cache-memory", "0"});
  for (const Json& split : why["splits"]) {
    EXPECT_EQ(split["result"], "MISS");
    EXPECT_EQ(split["differs"], Json{"front"});
    EXPECT_NE(split["reason"].get<std::string>().find("the front: resize:9x8 there, resize:9x7,grayscale here"),
              std::string::npos);
  }
  store(1);
  why = json("why", asked);
  EXPECT_EQ(why["splits"][0]["differs"], Json{"data"});
  EXPECT_NE(run("why", asked).out.find("differs in the data: digest"), std::string::npos);
}

TEST_F(DataCacheTest, SaysWhereNoEntryIsNeeded) {
  EXPECT_EQ(json("why")["splits"][0]["result"], "NONE");
  EXPECT_EQ(json("why", {"--augment", "grayscale,crop:1"})["splits"][0]["result"], "NONE");
  const Json why = json("why", {"--augment", "resize:9", "--cache-memory", std::to_string(30 * 81)});
  EXPECT_EQ(why["splits"][0]["needed"], false);
  EXPECT_EQ(why["splits"][0]["use"], "a run prepares the images in memory, where they fit, and keeps nothing on disk");
  EXPECT_EQ(why["splits"][1]["needed"], true);
}

TEST_F(DataCacheTest, RefusesWhatItDoesNotUnderstand) {
  expect_refused(run("why", {"--augment", "resize"}), 2, "resize");
  expect_refused(run("why", {"--augment", "shrink:3"}), 2, "found 'shrink'");
  expect_refused(run("why", {"--dataset", "smal"}), 3, "did you mean 'small'?");
  for (const char* size : {"", "M", "-1M", "1.5G", "2X", "1GM", "64KiBB", "auto "})
    expect_refused(run("why", {std::string("--cache-memory=") + size}), 2, "--cache-memory");
  expect_refused(run("why", {"--cache-memory", "99999999T"}), 2, "is out of range");
  for (const char* size : {"0", "7", "7B", "64k", "64KB", "64KiB", "1M", "2G", "1t", "auto"})
    EXPECT_EQ(run("why", {"--cache-memory", size}).code, 0) << size;
}

}  // namespace
}  // namespace lockring::app
