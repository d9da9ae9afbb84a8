#include "core/notes.h"

#include <gtest/gtest.h>

namespace lockring {
namespace {

using Texts = std::vector<std::string>;

TEST(Notes, AreTakenOnceInTheirOrder) {
  take_notes();
  say_once("slow");
  say_once("slower");
  EXPECT_EQ(take_notes(), (Texts{"slow", "slower"}));
  EXPECT_EQ(take_notes(), Texts{});
}

TEST(Notes, TheSameTextIsKeptOnce) {
  take_notes();
  say_once("again");
  EXPECT_EQ(take_notes(), Texts{"again"});
  say_once("again");
  EXPECT_EQ(take_notes(), Texts{});
}

}  // namespace
}  // namespace lockring
