#include "apps/cluster/child.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <csignal>

namespace lockring::app {
namespace {

struct Heard {
  int code = 0;
  std::vector<std::string> lines;
  std::string passed_on;  // to our stderr
};

Heard run_shell(const std::string& script) {
  const NotedSignals signals;
  testing::internal::CaptureStderr();
  Heard heard;
  heard.code = run_child({"sh", "-c", script}, [&](std::string_view line) { heard.lines.emplace_back(line); });
  heard.passed_on = testing::internal::GetCapturedStderr();
  return heard;
}

TEST(Child, ItsCodeAndWordsArrive) {
  const Heard heard = run_shell("echo one >&2; printf two >&2; printf ' and\\nthree' >&2; exit 7");
  EXPECT_EQ(heard.code, 7);
  EXPECT_EQ(heard.lines, (std::vector<std::string>{"one", "two and", "three"}));
  EXPECT_EQ(heard.passed_on, "one\ntwo and\nthree");
}

TEST(Child, ASignalThatEndsItIsItsCode) { EXPECT_EQ(run_shell("kill -9 $$").code, 128 + SIGKILL); }

TEST(Child, ASignalToUsGoesToIt) {
  // It tells that it listens, and hears it; without the signal it would wait for ever.
  const NotedSignals signals;
  testing::internal::CaptureStderr();
  const int code = run_child({"sh", "-c", "trap 'exit 33' TERM; echo ready >&2; while :; do sleep 0.05; done"},
                             [](std::string_view) { raise(SIGTERM); });
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 33);
  EXPECT_EQ(NotedSignals::received(), SIGTERM);
  NotedSignals::sleep(1e6);  // returns at once: a signal has come
}

TEST(Child, ASecondSignalGoesToItAsWell) {
  // Who has asked a job to stop, and waits in vain, asks again.
  const NotedSignals signals;
  testing::internal::CaptureStderr();
  const char* script =
      "trap 'n=$((n+1)); if [ $n = 2 ]; then exit 44; fi; echo again >&2' TERM; echo ready >&2;"
      "while :; do sleep 0.05; done";
  const int code = run_child({"sh", "-c", script}, [](std::string_view) { raise(SIGTERM); });
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 44);
}

TEST(Child, AProgramThatIsNotThereIsAnError) {
  const NotedSignals signals;
  expect_error(ErrorCode::usage, "cannot start no-such-program: No such file or directory", [] {
    run_child({"no-such-program", "x"}, [](std::string_view) {});
  });
}

}  // namespace
}  // namespace lockring::app
