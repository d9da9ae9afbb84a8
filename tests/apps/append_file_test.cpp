#include "apps/append_file.h"

#include "core/files.h"
#include "tests/apps/limited_file_size.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

namespace lockring::app {
namespace {

TEST(AppendWhole, AddsToTheEnd) {
  const TemporaryDirectory folder;
  EXPECT_EQ(append_whole(folder / "log", "one\n", IfMissing::create), "");
  EXPECT_EQ(append_whole(folder / "log", "two\n", IfMissing::fail), "");
  EXPECT_EQ(append_whole(folder / "log", "", IfMissing::fail), "");
  EXPECT_EQ(read_file(folder / "log"), "one\ntwo\n");
}

TEST(AppendWhole, NeverLeavesAPart) {
  const TemporaryDirectory folder;
  ASSERT_EQ(append_whole(folder / "log", "whole\n", IfMissing::create), "");
  {
    const LimitedFileSize limit(9);
    EXPECT_EQ(append_whole(folder / "log", "does not fit\n", IfMissing::create), "File too large");
  }
  EXPECT_EQ(read_file(folder / "log"), "whole\n");
  EXPECT_EQ(append_whole(folder / "log", "fits\n", IfMissing::create), "");
  EXPECT_EQ(read_file(folder / "log"), "whole\nfits\n");
}

TEST(AppendWhole, SaysWhyItCannot) {
  const TemporaryDirectory folder;
  EXPECT_EQ(append_whole(folder / "log", "x", IfMissing::fail), "No such file or directory");
  EXPECT_FALSE(std::filesystem::exists(folder / "log"));
  EXPECT_EQ(append_whole(folder / "none" / "log", "x", IfMissing::create), "No such file or directory");
  EXPECT_EQ(append_whole(folder.path(), "x", IfMissing::create), "Is a directory");
  EXPECT_EQ(append_whole("/dev/full", "x", IfMissing::create), "No space left on device");
}

}  // namespace
}  // namespace lockring::app
