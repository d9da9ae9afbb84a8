#include "apps/shell_word.h"

#include <gtest/gtest.h>

namespace lockring::app {
namespace {

TEST(ShellWord, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(shell_word("runs/cnn-1"), "runs/cnn-1");
  EXPECT_EQ(shell_word("crop:2,flip"), "crop:2,flip");
  EXPECT_EQ(shell_word("my runs/a"), "'my runs/a'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("$(reboot)"), "'$(reboot)'");
  EXPECT_EQ(shell_word("größe"), "'größe'");
}

}  // namespace
}  // namespace lockring::app
