#include "apps/cluster/launch_command.h"
#include "core/files.h"
#include "tests/apps/scoped_variable.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

namespace lockring::app {
namespace {

using Words = std::vector<std::string>;

TEST(LaunchHosts, AreReadAndWritten) {
  const std::vector<LaunchHost> list{{"a", 2, ""}, {"b", 1, ""}};
  EXPECT_EQ(parse_host_list("a:2,b"), list);
  EXPECT_EQ(parse_host_list("a,b:1,a"), list);
  EXPECT_EQ(host_list_text(list), "a:2,b:1");
  const std::vector<LaunchHost> file{{"a", 2, ""}, {"b", std::nullopt, " max_slots=4"}};
  EXPECT_EQ(parse_hostfile("# hosts\na slots=2 # first\n\n  b max_slots=4\n"), file);
  EXPECT_EQ(hostfile_text(file), "a slots=2\nb max_slots=4\n");
  EXPECT_EQ(parse_hostfile(hostfile_text(file)), file);
}

TEST(LaunchHosts, AShortNameIsTheSameHost) {
  EXPECT_TRUE(same_host("node7", "node7"));
  EXPECT_TRUE(same_host("node7", "node7.cluster.example"));
  EXPECT_FALSE(same_host("node7", "node70"));
  EXPECT_FALSE(same_host("node7.one", "node7.two"));
  EXPECT_FALSE(same_host("10.0.0.1", "10.0.0.2"));
  EXPECT_FALSE(same_host("10", "10.0.0.2"));
}

TEST(LaunchCommand, LeavesAHostOutOfTheList) {
  LaunchCommand command({"mpirun", "-np", "6", "--host", "a:2,b:2,c:2", "lockring", "train", "--run-dir", "r"});
  EXPECT_TRUE(command.drop_host("b.example"));
  EXPECT_FALSE(command.drop_host("b")) << "it is gone";
  EXPECT_EQ(command.words(false, "f"),
            (Words{"mpirun", "-np", "4", "--host", "a:2,c:2", "lockring", "train", "--run-dir", "r"}));
  EXPECT_TRUE(command.drop_host("a"));
  EXPECT_FALSE(command.drop_host("c")) << "the last one stays";
  EXPECT_EQ(command.words(true, "f"), (Words{"mpirun", "-np", "2", "--host", "c:2", "lockring", "train", "--resume",
                                             "--reshard", "--run-dir", "r"}));
}

TEST(LaunchCommand, LeavesAHostOutOfTheFile) {
  const TemporaryDirectory directory;
  const std::string file = directory / "hosts";
  write_file(file, "a slots=1\nb slots=3\nc slots=2\n");
  LaunchCommand command({"mpirun", "--hostfile", file, "-n", "4", "/usr/bin/lockring", "train", "--run-dir=r"});
  EXPECT_EQ(command.words(false, "left")[2], file) << "nothing has changed yet";
  EXPECT_TRUE(command.drop_host("b"));
  const Words words = command.words(false, "left");
  EXPECT_EQ(words[2], "left");
  EXPECT_EQ(words[4], "3");
  EXPECT_EQ(hostfile_text(command.hosts()), "a slots=1\nc slots=2\n");
  expect_error(ErrorCode::data, "none", [&] { LaunchCommand({"mpirun", "--hostfile", directory / "none", "x"}); });
}

TEST(LaunchCommand, SharesRanksInProportionWhereSlotsAreNotStated) {
  const TemporaryDirectory directory;
  const std::string file = directory / "hosts";
  write_file(file, "a\nb\nc\nd\n");
  LaunchCommand command({"mpirun", "-np", "8", "-hostfile", file, "program"});
  EXPECT_TRUE(command.drop_host("d"));
  EXPECT_EQ(command.words(false, "left")[2], "6");
}

TEST(LaunchCommand, RanksDivideTheShards) {
  LaunchCommand command({"mpirun", "-np", "4", "--host", "a,b,c,d", "lockring", "train", "--shards", "4"});
  EXPECT_TRUE(command.drop_host("b"));
  EXPECT_EQ(command.words(true, ""),
            (Words{"mpirun", "-np", "2", "--host", "a:1,c:1,d:1", "lockring", "train", "--resume", "--shards", "4"}));
}

TEST(LaunchCommand, ResumesTrainingOnly) {
  const LaunchCommand train({"mpirun", "lockring", "train", "--model", "cnn"});
  EXPECT_TRUE(train.trains());
  EXPECT_EQ(train.words(true, ""), (Words{"mpirun", "lockring", "train", "--resume", "--model", "cnn"}));
  const LaunchCommand resumed({"lockring", "train", "--run-dir", "r", "--resume"});
  EXPECT_EQ(resumed.words(true, ""), (Words{"lockring", "train", "--run-dir", "r", "--resume"}));
  const LaunchCommand other({"mpirun", "-np", "2", "train", "lockring", "eval"});
  EXPECT_FALSE(other.trains());
  EXPECT_EQ(other.words(true, ""), (Words{"mpirun", "-np", "2", "train", "lockring", "eval"}));
  expect_error(ErrorCode::usage, "expected a command", [] { LaunchCommand({}); });
}

TEST(LaunchCommand, FindsTheRunDirectory) {
  EXPECT_EQ(LaunchCommand({"lockring", "train", "--run-dir", "r"}).run_directory(), "r");
  EXPECT_EQ(LaunchCommand({"lockring", "train", "--run-dir=r/s"}).run_directory(), "r/s");
  EXPECT_EQ(LaunchCommand({"other", "--run-dir", "r"}).run_directory(), "");
  EXPECT_EQ(LaunchCommand({"lockring", "train"}).run_directory(), "");
  const ScopedVariable variable("LOCKRING_RUN_DIR", "from/outside");
  EXPECT_EQ(LaunchCommand({"lockring", "train"}).run_directory(), "from/outside");
}

TEST(LaunchCommand, OptionsOfTheProgramAreNotMpiruns) {
  LaunchCommand command({"mpirun", "lockring", "train", "--host", "a,b", "-np", "3"});
  EXPECT_TRUE(command.hosts().empty());
  EXPECT_FALSE(command.drop_host("a"));
}

}  // namespace
}  // namespace lockring::app
