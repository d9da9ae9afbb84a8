// Processes, their groups, and servers that answer.
#include "apps/workflow/process.h"

#include "apps/workflow/log_files.h"
#include "apps/workflow/probe.h"
#include "core/files.h"
#include "tests/apps/scoped_variable.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace lockring::app::workflow {
namespace {

namespace fs = std::filesystem;

class WorkflowProcess : public testing::Test {
 protected:
  Launch launch(const std::string& script) const {
    return {.command = {"sh", "-c", script}, .environment = environment_with({{"MARK", mark_}}), .log = log_file_};
  }
  static Ending wait(Process& process) {
    while (true) {
      if (const std::optional<Ending> ending = process.poll()) return *ending;
      wait_for({process.descriptor()}, std::chrono::milliseconds(1000));
    }
  }
  Ending run(const std::string& script) const {
    Process process(launch(script));
    return wait(process);
  }
  fs::path log() const { return directory_ / "log"; }
  static bool is_alive(const std::string& id) { return fs::exists("/proc/" + id.substr(0, id.find('\n')) + "/exe"); }

  ~WorkflowProcess() override { close(log_file_); }

  const TemporaryDirectory directory_;
  const int log_file_ = open((directory_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  const std::string mark_ = directory_.path().filename().string();
};

TEST_F(WorkflowProcess, TellsHowItEnded) {
  EXPECT_TRUE(run("exit 0").good());
  EXPECT_EQ(run("exit 3").text(), "exit code 3");
  EXPECT_EQ(run("kill -9 $$").text(), "signal 9 (Killed)");
}

TEST_F(WorkflowProcess, WritesAllToTheLogAndReadsNothing) {
  run("echo out; echo err >&2; cat");
  run("echo more");
  EXPECT_EQ(read_file(log()), "out\nerr\nmore\n");
}

TEST_F(WorkflowProcess, ProgramsAreFoundAsAShellFindsThem) {
  const auto start = [&](const std::string& program) {
    Process({.command = {program}, .environment = {}, .log = log_file_});
  };
  expect_error(ErrorCode::data, "there is no program 'no such' in PATH", [&] { start("no such"); });
#ifndef __SANITIZE_THREAD__  // whose vfork does not share memory
  expect_error(ErrorCode::data, "cannot start '/nowhere/x': No such file or directory", [&] { start("/nowhere/x"); });
  expect_error(ErrorCode::data, "cannot start '/dev/null': Permission denied", [&] { start("/dev/null"); });
#endif
  const ScopedVariable path("PATH", "/nowhere");
  expect_error(ErrorCode::data, "there is no program 'sh' in PATH", [&] { start("sh"); });
}

TEST_F(WorkflowProcess, ItsEnvironmentIsWhatItIsGiven) {
  const ScopedVariable one("LOCKRING_EPOCHS", "3");
  const ScopedVariable two("MARK", "old");
  const std::vector<std::string> environment = environment_with({{"MARK", "new"}}, "LOCKRING_");
  EXPECT_EQ(std::ranges::count_if(environment, [](const std::string& v) { return v.starts_with("MARK="); }), 1);
  EXPECT_TRUE(std::ranges::none_of(environment, [](const std::string& v) { return v.starts_with("LOCKRING_"); }));
  EXPECT_TRUE(std::ranges::any_of(environment, [](const std::string& v) { return v.starts_with("PATH="); }));
}

TEST_F(WorkflowProcess, ItsWholeGroupEndsWithIt) {
  EXPECT_TRUE(run("sleep 1000 & echo $!").good());
  while (is_alive(read_file(log()))) usleep(1000);
}

TEST_F(WorkflowProcess, ItsWholeGroupIsKilledWithTheObject) {
  {
    const Process process(launch("sleep 1000 & echo $!; sleep 1000"));
    while (!fs::exists(log()) || read_file(log()).find('\n') == std::string::npos) usleep(1000);
    EXPECT_TRUE(is_alive(read_file(log())));
  }
  // A killed orphan is there until init has seen it, without a program.
  while (is_alive(read_file(log()))) usleep(1000);
}

TEST_F(WorkflowProcess, WhatFledItsGroupIsFoundByItsMark) {
  run("setsid sh -c 'echo $$; exec sleep 1000' & sleep 0.01; while ! test -s " + log().string() +
      "; do sleep 0.01; done");
  const std::string id = read_file(log());
  EXPECT_TRUE(is_alive(id));
  const std::string name = "/proc/" + id.substr(0, id.find('\n')) + "/comm";
  while (read_file(name) != "sleep\n") usleep(1000);  // in the middle of exec it shows no environment
  EXPECT_EQ(kill_marked("MARK", mark_), 1);
  EXPECT_FALSE(is_alive(id));
  EXPECT_EQ(kill_marked("MARK", mark_), 0);
}

TEST_F(WorkflowProcess, AnEmptyLogGoesOnAsTheNext) {
  LogFiles logs;
  const LogFiles::Log first = logs.open(directory_ / "first");
  logs.close(first);
  const LogFiles::Log second = logs.open(directory_ / "second");
  EXPECT_EQ(second.file, first.file);
  EXPECT_FALSE(fs::exists(directory_ / "first"));
  ASSERT_EQ(write(second.file, "x", 1), 1);
  const LogFiles::Log third = logs.open(directory_ / "third");
  logs.close(second);
  logs.close(third);
  EXPECT_EQ(read_file(directory_ / "second"), "x");
  const LogFiles::Log again = logs.open(directory_ / "second");
  ASSERT_EQ(write(again.file, "y", 1), 1);
  logs.close(again);
  EXPECT_EQ(read_file(directory_ / "second"), "xy");
}

TEST_F(WorkflowProcess, AServerAnswersOrNot) {
  EXPECT_TRUE(answers(""));
  const std::string port = std::to_string(free_port());
  EXPECT_FALSE(answers("tcp:127.0.0.1:" + port));
  EXPECT_FALSE(answers("http://127.0.0.1:" + port + "/"));
  expect_error(ErrorCode::data, "expected http://..., https://... or tcp:HOST:PORT, found 'x'", [] { answers("x"); });
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(socket, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(socket, 1), 0);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  EXPECT_TRUE(answers("tcp:127.0.0.1:" + std::to_string(ntohs(address.sin_port))));
  close(socket);
}

}  // namespace
}  // namespace lockring::app::workflow
