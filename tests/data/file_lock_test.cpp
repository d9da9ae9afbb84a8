#include "data/file_lock.h"

#include "tests/data/child_process.h"
#include "tests/data/small_files.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

class FileLockTest : public testing::Test {
 protected:
  TemporaryDirectory folder_;
  const fs::path path_ = folder_ / "lock";
};

TEST_F(FileLockTest, OneHoldsItAtATime) {
  EXPECT_EQ(FileLock::take_if_free(path_), nullptr);  // there is no file
  {
    const FileLock lock(path_);
    EXPECT_EQ(FileLock::take_if_free(path_), nullptr);
  }
  EXPECT_NE(FileLock::take_if_free(path_), nullptr);
}

TEST_F(FileLockTest, TheOthersWait) {
  auto lock = std::make_unique<FileLock>(path_);
  std::atomic<bool> waiting = false;
  std::atomic<bool> free = false;
  std::thread other([&] {
    const FileLock mine(path_, [&] { waiting = true; });
    EXPECT_TRUE(free);
  });
  while (!waiting) std::this_thread::yield();
  free = true;
  lock.reset();
  other.join();
}

// The holder may remove the file: who waited for it then locks the one that is there.
TEST_F(FileLockTest, ARemovedFileIsNoLock) {
  auto lock = std::make_unique<FileLock>(path_);
  std::atomic<bool> waiting = false;
  std::thread other([&] {
    const FileLock mine(path_, [&] { waiting = true; });
    EXPECT_TRUE(fs::exists(path_));
    EXPECT_EQ(FileLock::take_if_free(path_), nullptr);
  });
  while (!waiting) std::this_thread::yield();
  fs::remove(path_);
  lock.reset();
  other.join();
}

TEST_F(FileLockTest, ItGoesWithItsProcess) {
  ChildProcess child([&] {
    const FileLock lock(path_);
    write(folder_ / "held", "");
    std::this_thread::sleep_for(std::chrono::seconds(60));
    return 0;
  });
  while (!fs::exists(folder_ / "held")) std::this_thread::yield();
  EXPECT_EQ(FileLock::take_if_free(path_), nullptr);
  child.kill();
  child.wait();
  EXPECT_NE(FileLock::take_if_free(path_), nullptr);
}

TEST_F(FileLockTest, AFileInUseCannotBeTaken) {
  write(path_, "content");
  {
    const UseLock one(path_);
    const UseLock other(path_);
    EXPECT_EQ(FileLock::take_if_free(path_), nullptr);
  }
  EXPECT_NE(FileLock::take_if_free(path_), nullptr);
  const UseLock missing(folder_ / "missing");
  EXPECT_FALSE(fs::exists(folder_ / "missing"));
}

TEST_F(FileLockTest, AFileThatCannotBeMadeIsAnError) {
  expect_error(ErrorCode::data, "cannot write", [&] { FileLock(folder_ / "missing" / "lock"); });
}

}  // namespace
}  // namespace lockring::data
