// The program itself, as a shell runs it.
#include "apps/program.h"
#include "core/error.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace lockring::app {
namespace {

struct ShellRun {
  int code = 0;
  std::string out;
};

// `command` with "lockring" for the program's path; bash, for the exit code of a pipe's first part.
ShellRun shell(const std::string& command) {
  const std::string text = "lockring() { '" LOCKRING_PROGRAM "' \"$@\"; }\nset -o pipefail\n" + command;
  const std::string quoted = fmt::format("bash -c \"$(cat <<'END'\n{}\nEND\n)\"", text);
  std::FILE* pipe = popen(quoted.c_str(), "r");
  check(pipe != nullptr, ErrorCode::other, "cannot run a shell");
  ShellRun run;
  for (int c; (c = std::fgetc(pipe)) != EOF;) run.out += static_cast<char>(c);
  run.code = WEXITSTATUS(pclose(pipe));
  return run;
}

TEST(Binary, PrintsItsVersion) {
  const ShellRun run = shell("lockring --version");
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out, "lockring " + std::string(version()) + "\n");
}

TEST(Binary, ErrorsGoToStderrWithTheirCode) {
  EXPECT_EQ(shell("lockring nonsense 2>/dev/null").out, "");
  const ShellRun run = shell("lockring nonsense 2>&1 >/dev/null");
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out.rfind("lockring: unknown command 'nonsense'", 0), 0u) << run.out;
}

TEST(Binary, SurvivesAReaderThatHasGone) {
  const ShellRun run = shell("lockring --help 2>&1 | true; echo ${PIPESTATUS[0]}");
  EXPECT_EQ(run.out, "0\n");
  EXPECT_EQ(shell("{ sleep 0.2; lockring --help; } 2>&1 | true").code, 0);
}

TEST(Binary, AFullDiskIsAnError) {
  const ShellRun run = shell("lockring --help 2>&1 >/dev/full");
  EXPECT_EQ(run.code, 1);
  EXPECT_NE(run.out.find("cannot write to standard output"), std::string::npos) << run.out;
}

}  // namespace
}  // namespace lockring::app
