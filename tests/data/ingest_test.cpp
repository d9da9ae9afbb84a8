#include "data/ingest.h"

#include "core/files.h"
#include "data/dataset.h"
#include "data/dataset_store.h"
#include "tests/data/small_files.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <set>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

class IngestTest : public testing::Test {
 protected:
  IngestTest() {
    write_dataset(source_, small_dataset());
    options_.source = source_.string();
    options_.name = "small";
    options_.data_dir = folder_ / "data";
    options_.notice = [this](const std::string& text) { notices_ += text + "\n"; };
  }

  fs::path store() const { return options_.data_dir / options_.name; }
  // Writes other content of the same sizes; file times are too coarse to tell writes of one moment apart.
  void rewrite_source(int variant) {
    write_dataset(source_, small_dataset(variant));
    later_ += std::chrono::seconds(1);
    for (const auto& entry : fs::directory_iterator(source_))
      fs::last_write_time(entry, fs::last_write_time(entry) + later_);
  }
  // What is visible in the store, but for the lock.
  std::set<std::string> stored() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(store())) names.insert(entry.path().filename().string());
    names.erase(".lock");
    return names;
  }
  void expect_bad(std::string_view part) {
    expect_error(ErrorCode::data, part, [&] { ingest(options_); });
  }

  TemporaryDirectory folder_;
  fs::path source_ = folder_ / "source";
  IngestOptions options_;
  std::string notices_;
  std::chrono::seconds later_{0};
};

// Runs `work` in a process of its own; returns what waitpid tells.
template <class Work>
pid_t in_child(const Work& work) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    work();
    _exit(0);
  } catch (...) {
    _exit(1);
  }
}
int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST_F(IngestTest, StoresWhatCanBeLoaded) {
  const IngestReport report = ingest(options_);
  EXPECT_FALSE(report.already_there);
  EXPECT_EQ(report.manifest.train.images, 30);
  EXPECT_EQ(report.manifest.test.per_class, std::vector<std::int64_t>(10, 2));
  EXPECT_EQ(report.manifest.source, fs::canonical(source_).string());
  const auto files = small_dataset();
  EXPECT_EQ(report.manifest.digest, sha256(files[0] + files[1] + files[2] + files[3]));
  const Dataset dataset = load_dataset(options_.data_dir, "small");
  EXPECT_EQ(dataset.digest, report.manifest.digest);
  EXPECT_EQ(dataset.classes, (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}));
  ASSERT_EQ(dataset.train.images->shape(), (Shape{30, 6, 5, 1}));
  for (std::int64_t i = 0; i < 900; ++i) ASSERT_EQ(dataset.train.images->image(0, nullptr)[i], i * 7 % 256);
  for (std::int64_t i = 0; i < 20; ++i) ASSERT_EQ(dataset.test.labels.data<std::uint8_t>()[i], i % 10);
  EXPECT_EQ(read_file(report.directory / kFileNames[0]), files[0]);
  EXPECT_NE(notices_.find("not that of a known data set"), std::string::npos);
}

TEST_F(IngestTest, AgainDoesNothingAndSaysWhy) {
  const IngestReport first = ingest(options_);
  const IngestReport second = ingest(options_);
  EXPECT_TRUE(second.already_there);
  EXPECT_EQ(second.directory, first.directory);
  EXPECT_EQ(second.manifest.ingested_utc, first.manifest.ingested_utc);
  EXPECT_NE(second.reason.find("same sizes and times"), std::string::npos) << second.reason;
}

TEST_F(IngestTest, GzipAndPlainAreTheSameContent) {
  const IngestReport plain = ingest(options_);
  write_dataset(folder_ / "compressed", small_dataset(), true);
  options_.source = folder_ / "compressed";
  const IngestReport compressed = ingest(options_);
  EXPECT_TRUE(compressed.already_there);
  EXPECT_EQ(compressed.manifest.digest, plain.manifest.digest);
  EXPECT_NE(compressed.reason.find("ingested before"), std::string::npos) << compressed.reason;
}

TEST_F(IngestTest, AcceptsDottedNamesAndItsOwnStore) {
  fs::rename(source_ / kFileNames[2], source_ / "t10k-images.idx3-ubyte");
  const IngestReport first = ingest(options_);
  options_.source = first.directory;
  options_.name = "copy";
  EXPECT_EQ(ingest(options_).manifest.digest, first.manifest.digest);
}

TEST_F(IngestTest, ChangedContentIsANewVersion) {
  const IngestReport first = ingest(options_);
  rewrite_source(1);
  const IngestReport second = ingest(options_);
  EXPECT_FALSE(second.already_there);
  EXPECT_NE(second.directory, first.directory);
  EXPECT_EQ(load_dataset(options_.data_dir, "small").digest, second.manifest.digest);
  EXPECT_EQ(dataset_info(options_.data_dir, "small").versions.size(), 2u);
  // Back again: the first is still there.
  rewrite_source(0);
  EXPECT_TRUE(ingest(options_).already_there);
  EXPECT_EQ(load_dataset(options_.data_dir, "small").digest, first.manifest.digest);
}

TEST_F(IngestTest, ReplacesADamagedVersion) {
  const IngestReport first = ingest(options_);
  flip_bit(first.directory / kFileNames[0], 100);
  expect_error(ErrorCode::data, "damaged", [&] { load_dataset(options_.data_dir, "small"); });
  EXPECT_FALSE(ingest(options_).already_there);
  EXPECT_NE(notices_.find("was damaged and is replaced"), std::string::npos);
  verify_dataset(options_.data_dir, "small");
  fs::remove(first.directory / "manifest.json");
  EXPECT_FALSE(ingest(options_).already_there);
  verify_dataset(options_.data_dir, "small");
  EXPECT_EQ(stored(), (std::set<std::string>{"current", first.directory.filename().string()}));
}

TEST_F(IngestTest, ExpectedDigest) {
  const auto files = small_dataset();
  const std::string digest = sha256(files[0] + files[1] + files[2] + files[3]);
  options_.expect_digest = std::string(64, '0');
  expect_bad("expected content digest 0000");
  EXPECT_TRUE(stored().empty());
  options_.expect_digest = digest.substr(0, 8);
  expect_bad("expected content digest");
  options_.expect_digest = digest.substr(0, 16);
  ingest(options_);
  options_.expect_digest = digest;
  EXPECT_TRUE(ingest(options_).already_there);
  options_.expect_digest = std::string(64, '0');
  expect_bad("expected content digest 0000");
}

TEST_F(IngestTest, BadSourcesLeaveNothing) {
  flip_bit(source_ / kFileNames[1], 3);
  expect_bad("train-labels-idx1-ubyte");
  EXPECT_TRUE(stored().empty());
  fs::remove(source_ / kFileNames[1]);
  fs::remove(source_ / kFileNames[3]);
  expect_bad("missing train-labels-idx1-ubyte, t10k-labels-idx1-ubyte");
  options_.source = folder_ / "absent";
  expect_bad("no such folder");
  options_.source = source_ / kFileNames[0];
  expect_bad("expected a folder");
  EXPECT_TRUE(stored().empty());
}

TEST_F(IngestTest, RejectsNamesAndAddressesOfAnotherKind) {
  options_.source = "ftp://host/folder";
  expect_error(ErrorCode::usage, "http://", [&] { ingest(options_); });
  for (const char* name : {"", "..", "a/b", "Fashion", ".hidden"}) {
    options_.name = name;
    expect_error(ErrorCode::usage, "data set name", [&] { ingest(options_); });
  }
}

TEST_F(IngestTest, SearchesTheSystemsDataFolders) {
  const char* before = std::getenv("XDG_DATA_DIRS");
  const std::string saved = before != nullptr ? before : "";
  setenv("XDG_DATA_DIRS", ("relative:" + (folder_ / "a").string() + ":" + (folder_ / "share").string()).c_str(), 1);
  write_dataset(folder_ / "share" / "datasets" / "small", small_dataset(), true);
  options_.source.clear();
  EXPECT_EQ(ingest(options_).manifest.train.images, 30);
  options_.name = "other";
  expect_bad("data set 'other' is in none of");
  before != nullptr ? setenv("XDG_DATA_DIRS", saved.c_str(), 1) : unsetenv("XDG_DATA_DIRS");
}

TEST_F(IngestTest, ProcessesAtOnceDoItOnce) {
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) children.push_back(in_child([&] { ingest(options_); }));
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(stored().size(), 2u);
  verify_dataset(options_.data_dir, "small");
  EXPECT_TRUE(ingest(options_).already_there);
}

TEST_F(IngestTest, AKilledProcessIsNoObstacle) {
  // Killed while it holds the lock.
  options_.progress = [](auto...) { raise(SIGKILL); };
  EXPECT_TRUE(WIFSIGNALED(wait_for(in_child([&] { ingest(options_); }))));
  // As if killed while it wrote.
  fs::create_directories(store() / ".new-1");
  write(store() / ".new-1" / "half", "written");
  options_.progress = nullptr;
  EXPECT_FALSE(ingest(options_).already_there);
  EXPECT_EQ(stored().size(), 2u);
  verify_dataset(options_.data_dir, "small");
}

TEST_F(IngestTest, WhatProgressThrowsStopsIt) {
  options_.progress = [](auto...) { fail(ErrorCode::other, "stopped"); };
  expect_error(ErrorCode::other, "stopped", [&] { ingest(options_); });
  EXPECT_TRUE(stored().empty());
}

TEST_F(IngestTest, AFolderThatCannotBeMadeIsAnError) {
  write(folder_ / "data", "a file");
  expect_bad("data");
}

}  // namespace
}  // namespace lockring::data
