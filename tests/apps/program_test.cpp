#include "apps/program.h"

#include "apps/parse.h"
#include "core/notes.h"
#include "tests/apps/captured_run.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lockring::app {
namespace {

void expect_error_line(const CapturedRun& run, int code, const std::string& part) {
  EXPECT_EQ(run.code, code);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err.rfind("lockring: ", 0), 0u) << run.err;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
  EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
}

TEST(Program, EndsWithWhatTheLibraryNoted) {
  say_once("something is slow");
  EXPECT_EQ(captured_run({"--version"}).err, "note: something is slow\n");
  EXPECT_EQ(captured_run({"--version"}).err, "");
  say_once("something is slower");
  EXPECT_EQ(captured_run({"nonsense"}).err.find("note: something is slower\nlockring: unknown command"), 0);
}

TEST(Program, AloneOrAskedPrintsTheCommands) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{}, {"--help"}, {"-h"}, {"help"}}) {
    const CapturedRun run = captured_run(arguments);
    EXPECT_EQ(run.code, 0);
    for (const Command& command : commands()) EXPECT_NE(run.out.find(command.name), std::string::npos);
  }
}

TEST(Program, GroupAloneListsItsCommands) {
  const CapturedRun run = captured_run({"data"});
  EXPECT_EQ(run.code, 0);
  EXPECT_NE(run.out.find("data verify"), std::string::npos);
  EXPECT_EQ(run.out.find("doctor"), std::string::npos);
}

TEST(Program, PrintsItsVersion) {
  const CapturedRun run = captured_run({"--version"});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.out, "lockring " + std::string(version()) + "\n");
}

TEST(Program, UnknownCommandsSuggestTheNearest) {
  expect_error_line(captured_run({"docter"}), 2, "unknown command 'docter' (did you mean 'doctor'?)");
  expect_error_line(captured_run({"data", "verfy"}), 2, "unknown command 'data verfy' (did you mean 'data verify'?)");
  expect_error_line(captured_run({"--verison"}), 2, "--verison");
  expect_error_line(captured_run({""}), 2, "unknown command ''");
}

TEST(Program, ErrorsBecomeExitCodes) {
  expect_error_line(captured_run({"doctor", "--jason"}), 2, "did you mean '--json'?");
  expect_error_line(captured_run({"data", "info", "--data-dir", "/nowhere"}), 3, "no data set");
}

// The rules that every command follows.
TEST(Program, EveryCommandHasHelpWithAnExample) {
  for (const Command& command : commands()) {
    SCOPED_TRACE(command.name);
    testing::internal::CaptureStdout();
    EXPECT_EQ(parse(command, {"--help"})(), 0);
    const std::string help = testing::internal::GetCapturedStdout();
    EXPECT_NE(help.find("--config FILE"), std::string::npos) << help;
    EXPECT_NE(help.find("Example"), std::string::npos) << help;
    EXPECT_NE(help.find("\n  lockring " + command.name), std::string::npos) << help;
  }
}

}  // namespace
}  // namespace lockring::app
