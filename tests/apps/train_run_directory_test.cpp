#include "apps/train/run_directory.h"

#include "core/files.h"
#include "tests/apps/limited_file_size.h"
#include "tests/data/small_files.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <vector>

namespace lockring::app {
namespace {

namespace fs = std::filesystem;

class RunDirectoryTest : public testing::Test {
 protected:
  RunDirectoryTest() { fs::current_path(directory_.path()); }
  ~RunDirectoryTest() override { fs::current_path(before_); }

  // A folder with a checkpoint.
  void make_run() const {
    fs::create_directory(run_);
    data::write(run_ / "last.safetensors", "");
  }

  RunDirectory::Warn warn() {
    return [this](const std::string& message) { warnings_.push_back(message); };
  }

  std::vector<std::string> warnings_;
  const fs::path before_ = fs::current_path();
  TemporaryDirectory directory_;
  const fs::path run_ = directory_ / "run";
};

TEST_F(RunDirectoryTest, IsMadeWhenItIsOpened) {
  RunDirectory directory(run_ / "deep" / "", "cnn", false, warn());
  EXPECT_FALSE(fs::exists(run_));
  directory.open();
  EXPECT_TRUE(fs::is_directory(run_ / "deep"));
  EXPECT_EQ(directory.path(), run_ / "deep");
  EXPECT_EQ(directory.last(), run_ / "deep" / "last.safetensors");
}

TEST_F(RunDirectoryTest, WithoutANameTakesTheNextFreeNumber) {
  RunDirectory first("", "cnn", false, warn());
  RunDirectory second("", "cnn", false, warn());
  first.open();
  second.open();
  EXPECT_EQ(first.path(), "runs/cnn-1");
  EXPECT_EQ(second.path(), "runs/cnn-2");
  RunDirectory relative("here", "cnn", false, warn());
  relative.open();
  EXPECT_TRUE(fs::is_directory(directory_ / "here"));
}

TEST_F(RunDirectoryTest, AnExistingOneIsLeftAlone) {
  data::write(directory_ / "file", "");
  expect_error(ErrorCode::usage, "file exists already; give another --run-dir",
               [&] { RunDirectory(directory_ / "file", "cnn", false, warn()); });
  make_run();
  expect_error(ErrorCode::usage, "run exists already; give --resume to go on with it, or another --run-dir",
               [&] { RunDirectory(run_, "cnn", false, warn()); });
}

TEST_F(RunDirectoryTest, OneOfTwoProcessesGetsIt) {
  RunDirectory first(run_, "cnn", false, warn());
  RunDirectory second(run_, "cnn", false, warn());
  first.open();
  expect_error(ErrorCode::usage, "another run has just made it", [&] { second.open(); });
}

TEST_F(RunDirectoryTest, OneThatCannotBeMadeIsAnError) {
  data::write(directory_ / "file", "");
  RunDirectory directory(directory_ / "file" / "run", "cnn", false, warn());
  expect_error(ErrorCode::data, "cannot make the run directory " + (directory_ / "file").string(),
               [&] { directory.open(); });
  data::write("runs", "");
  RunDirectory next("", "cnn", false, warn());
  expect_error(ErrorCode::data, "cannot make the run directory runs", [&] { next.open(); });
}

TEST_F(RunDirectoryTest, ResumesOnlyWhereThereIsACheckpoint) {
  expect_error(ErrorCode::usage, "--resume needs the --run-dir", [&] { RunDirectory("", "cnn", true, warn()); });
  expect_error(ErrorCode::usage, "there is no last.safetensors in", [&] { RunDirectory(run_, "cnn", true, warn()); });
  const fs::path loop = directory_ / "loop";
  fs::create_symlink(loop, loop);
  expect_error(ErrorCode::data, "cannot look into " + loop.string(), [&] { RunDirectory(loop, "cnn", true, warn()); });
  make_run();
  RunDirectory directory(run_, "cnn", true, warn());
  directory.open();
  EXPECT_EQ(directory.path(), run_);
}

TEST_F(RunDirectoryTest, OneProcessAtATimeTrainsInIt) {
  RunDirectory running(run_, "cnn", false, warn());
  running.open();
  running.write("last.safetensors", "");
  expect_error(ErrorCode::usage, "another process is training in", [&] { RunDirectory(run_, "cnn", true, warn()); });
}

TEST_F(RunDirectoryTest, ResumingSweepsWhatAKilledProcessLeft) {
  make_run();
  data::write(run_ / "last.safetensors.tmp.4711.0", "half");
  data::write(run_ / "summary.json.tmp.12.3", "half");
  data::write(run_ / "notes.txt", "mine");
  fs::create_directory(run_ / "a.tmp.folder");
  RunDirectory directory(run_, "cnn", true, warn());
  EXPECT_TRUE(fs::exists(run_ / "summary.json.tmp.12.3")) << "not before the options are known to be good";
  directory.open();
  EXPECT_FALSE(fs::exists(run_ / "last.safetensors.tmp.4711.0"));
  EXPECT_FALSE(fs::exists(run_ / "summary.json.tmp.12.3"));
  EXPECT_TRUE(fs::exists(run_ / "last.safetensors"));
  EXPECT_TRUE(fs::exists(run_ / "notes.txt"));
  EXPECT_TRUE(fs::exists(run_ / "a.tmp.folder"));
}

TEST_F(RunDirectoryTest, KeepsOneWholeLineOfEachEpoch) {
  RunDirectory directory(run_, "cnn", false, warn());
  directory.open();
  for (const char* line : {R"({"epoch":1,"a":1})", R"({"epoch":2)", R"({"epoch":2,"a":2})", R"({"epoch":2,"a":3})",
                           R"({"a":4})", "", "7", R"({"epoch":"3"})", R"({"epoch":0})", R"({"epoch":3})"})
    directory.append_metrics(line);
  directory.keep_metrics(2);
  EXPECT_EQ(read_file(run_ / "metrics.jsonl"), "{\"epoch\":1,\"a\":1}\n{\"epoch\":2,\"a\":2}\n");
  directory.keep_metrics(0);
  EXPECT_EQ(read_file(run_ / "metrics.jsonl"), "");
}

// A folder that vanishes, and one that has come back.
TEST_F(RunDirectoryTest, WhatCannotBeWrittenCostsOneWarningAFile) {
  RunDirectory directory(run_, "cnn", false, warn());
  directory.open();
  fs::remove_all(run_);
  for (int i = 0; i < 2; ++i) {
    directory.log("a line");
    directory.append_metrics("{}");
    directory.write("summary.json", "{}");
    directory.keep_metrics(1);
  }
  EXPECT_EQ(warnings_, (std::vector<std::string>{"cannot write " + (run_ / "log.txt").string() +
                                                     ": No such file or directory; training goes on without it",
                                                 "cannot write " + (run_ / "metrics.jsonl").string() +
                                                     ": No such file or directory; training goes on without it",
                                                 "cannot write " + (run_ / "summary.json").string() +
                                                     ": No such file or directory; training goes on without it"}));
  fs::create_directory(run_);
  directory.append_metrics("{}");
  EXPECT_EQ(read_file(run_ / "metrics.jsonl"), "{}\n");
}

TEST_F(RunDirectoryTest, AFullDiskLeavesNoHalfLine) {
  RunDirectory directory(run_, "cnn", false, warn());
  directory.open();
  directory.append_metrics("{\"epoch\":1}");
  {
    const LimitedFileSize limit(15);
    directory.append_metrics("{\"epoch\":2}");
    EXPECT_EQ(read_file(run_ / "metrics.jsonl"), "{\"epoch\":1}\n");
  }
  directory.append_metrics("{\"epoch\":3}");
  EXPECT_EQ(read_file(run_ / "metrics.jsonl"), "{\"epoch\":1}\n{\"epoch\":3}\n");
  EXPECT_EQ(warnings_.size(), 1u);
}

}  // namespace
}  // namespace lockring::app
