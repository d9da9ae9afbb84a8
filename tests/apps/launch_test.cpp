// `lockring launch` of small shell scripts that fail as jobs do.
#include "core/files.h"
#include "tests/apps/captured_run.h"
#include "tests/support/temporary_directory.h"

#include <filesystem>

namespace lockring::app {
namespace {

class LaunchTest : public testing::Test {
 protected:
  // A program by this name in the folder, which notes its arguments.
  std::string script(const std::string& name, const std::string& text) {
    const std::filesystem::path path = directory_ / name;
    write_file(path, "#!/bin/sh\necho \"$*\" >> '" + arguments_file() + "'\n" + text + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  }
  std::string arguments_file() const { return (directory_ / "arguments").string(); }
  std::string run_dir() const { return (directory_ / "run").string(); }
  CapturedRun launch(const std::vector<std::string>& options, const std::vector<std::string>& command) const {
    std::vector<std::string> words{"launch", "--backoff", "0.001"};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back("--");
    words.insert(words.end(), command.begin(), command.end());
    return captured_run(words);
  }
  void expect_said(const CapturedRun& run, const std::vector<std::string>& parts) const {
    for (const std::string& part : parts)
      EXPECT_NE(run.err.find(part), std::string::npos) << part << " in\n" << run.err;
  }

  TemporaryDirectory directory_;
};

TEST_F(LaunchTest, AJobThatSucceedsRunsOnce) {
  const CapturedRun run = launch({"--restarts", "3"}, {script("job", "exit 0"), "a", "b"});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(read_file(arguments_file()), "a b\n");
}

TEST_F(LaunchTest, GivesUpAfterSoManyRestarts) {
  const CapturedRun run = launch({"--restarts", "2"}, {script("job", "exit 4"), "x"});
  EXPECT_EQ(run.code, 4);
  EXPECT_EQ(read_file(arguments_file()), "x\nx\nx\n");
  expect_said(run, {"attempt 1 of 3", "attempt 3 ended after", "exit code 4", "gave up after 3 attempts"});
}

TEST_F(LaunchTest, GoesOnFromTheCheckpointOnTheHostsThatAreLeft) {
  // The first time it saves a checkpoint, and rank 1 dies on host b.
  const std::string died = "mpirun noticed that process rank 1 with PID 7 on node b exited on signal 9 (Killed).";
  const std::string mpirun =
      script("mpirun", "mkdir -p '" + run_dir() + "'\n[ -e '" + run_dir() + "/last.safetensors' ] && exit 0\ntouch '" +
                           run_dir() + "/last.safetensors'\necho '" + died + "' >&2\nexit 137");
  const CapturedRun run = launch(
      {"--restarts", "1"}, {mpirun, "-np", "4", "--host", "a:2,b:2", "lockring", "train", "--run-dir", run_dir()});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(read_file(arguments_file()), "-np 4 --host a:2,b:2 lockring train --run-dir " + run_dir() +
                                             "\n-np 2 --host a:2 lockring train --resume --reshard --run-dir " +
                                             run_dir() + "\n");
  expect_said(run, {"host b: rank 1 was ended by signal 9; it is left out, and there are still a",
                    "attempt 2 of 2, from the checkpoint in", "attempt 2 has finished the job"});
}

TEST_F(LaunchTest, AHostfileWithoutTheHostIsMadeAndRemoved) {
  write_file(directory_ / "hosts", "a slots=1\nb slots=1\n");
  const std::string mpirun = script(
      "mpirun", "cat \"$2\" >> '" + arguments_file() + "'\necho 'Remote daemon: [[1,0],1] on node a' >&2\nexit 1");
  launch({"--restarts", "1"}, {mpirun, "--hostfile", directory_ / "hosts", "-np", "2", "program"});
  const std::string seen = read_file(arguments_file());
  EXPECT_NE(seen.find("a slots=1\nb slots=1\n--hostfile "), std::string::npos) << seen;
  EXPECT_TRUE(seen.ends_with("-np 1 program\nb slots=1\n")) << seen;
  const std::size_t begin = seen.rfind("--hostfile ") + 11;
  EXPECT_FALSE(std::filesystem::exists(seen.substr(begin, seen.find(' ', begin) - begin)));
}

TEST_F(LaunchTest, MistakesAreNotRepeated) {
  for (const char* code : {"2", "3", "5"}) {
    const std::string job = script("lockring", std::string("exit ") + code);
    const CapturedRun run = launch({"--restarts", "9"}, {job, "train", "--run-dir", run_dir()});
    EXPECT_EQ(run.code, std::stoi(code));
    expect_said(run, {"it would fail again"});
  }
  EXPECT_EQ(read_file(arguments_file()).size(), 3 * (std::string("train --run-dir \n").size() + run_dir().size()));
}

TEST_F(LaunchTest, AFolderWithoutACheckpointIsSetAside) {
  const std::string job = script("lockring", "mkdir '" + run_dir() + "' || exit 2\nexit 4");
  const CapturedRun run = launch({"--restarts", "2"}, {job, "train", "--run-dir", run_dir()});
  EXPECT_EQ(run.code, 4) << run.err;
  EXPECT_TRUE(std::filesystem::exists(run_dir() + ".failed-1"));
  EXPECT_TRUE(std::filesystem::exists(run_dir() + ".failed-2"));
}

TEST_F(LaunchTest, RefusesWhatCannotBe) {
  EXPECT_EQ(captured_run({"launch", "--restarts", "1"}).code, 2);
  const CapturedRun nowhere = launch({"--restarts", "1"}, {"mpirun", "lockring", "train"});
  EXPECT_EQ(nowhere.code, 2);
  expect_said(nowhere, {"give lockring train a --run-dir"});
  EXPECT_EQ(launch({"--restarts", "-1"}, {"true"}).code, 2);
  const CapturedRun missing = launch({}, {directory_ / "nothing"});
  EXPECT_EQ(missing.code, 2);
  expect_said(missing, {"cannot start"});
}

}  // namespace
}  // namespace lockring::app
