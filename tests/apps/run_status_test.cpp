#include "apps/run_status.h"

#include <gtest/gtest.h>

namespace lockring::app {
namespace {

TEST(RunStatus, IsReadAsItWasWritten) {
  for (const RunState state :
       {RunState::running, RunState::stopped, RunState::finished, RunState::diverged, RunState::failed}) {
    const std::optional<RunStatus> read = parse_status(status_json({state, "why \"not\""}));
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->state, state);
    EXPECT_EQ(read->message, "why \"not\"");
  }
  EXPECT_EQ(status_json({RunState::finished, ""}), "{\n  \"state\": \"finished\"\n}\n");
  EXPECT_EQ(parse_status(status_json({RunState::finished, ""}))->message, "");
}

TEST(RunStatus, HoldsPathsThatAreNotUtf8) {
  EXPECT_EQ(parse_status(status_json({RunState::failed, "cannot write a\xff"}))->message, "cannot write a\xEF\xBF\xBD");
}

TEST(RunStatus, OtherTextIsNone) {
  for (const char* text : {"", "{", "[]", "7", "{}", R"({"state": 3})", R"({"state": "asleep"})", R"("running")"})
    EXPECT_FALSE(parse_status(text).has_value()) << text;
  EXPECT_EQ(parse_status(R"({"state": "failed", "message": 3})")->message, "");
}

}  // namespace
}  // namespace lockring::app
