#include "apps/run_lock.h"
#include "apps/runs/run_record.h"
#include "tests/apps/run_folder.h"
#include "tests/support/errors.h"

#include <algorithm>
#include <cmath>

namespace lockring::app {
namespace {

using RunRecordTest = RunFolderTest;

TEST_F(RunRecordTest, TellsAFinishedRun) {
  make_run("a", {.state = "finished", .summary = R"({"test_accuracy": 0.6, "val_accuracy": 0.7, "seed": 3,
      "val_loss": null, "images_per_second": 50, "command": "lockring train", "bundle": "x"})"});
  const RunRecord run = read_run(folder("a"));
  EXPECT_EQ(run.status.state, RunState::finished);
  EXPECT_EQ(run.setting("model"), "mlp");
  EXPECT_EQ(run.setting("lr"), "0.1");
  EXPECT_EQ(run.setting("none"), "");
  EXPECT_EQ(run.command, "lockring train");
  ASSERT_EQ(run.epochs.size(), 2u);
  EXPECT_EQ(run.epochs[1].at("val_loss"), 0.4);
  EXPECT_EQ(run.metrics.at("val_accuracy"), 0.7) << "the summary's";
  EXPECT_EQ(run.metrics.at("val_loss"), 0.4) << "what was not measured is not taken over";
  EXPECT_EQ(run.metrics.at("test_accuracy"), 0.6);
  EXPECT_EQ(run.metrics.at("images_per_second"), 50);
  EXPECT_FALSE(run.metrics.contains("seed"));
  EXPECT_TRUE(run.problems.empty()) << run.problems.front();
}

TEST_F(RunRecordTest, AnUnfinishedRunIsAsGoodAsItsBestEpoch) {
  make_run("a", {.metrics = R"({"epoch":1,"step":9,"val_accuracy":0.5,"val_loss":1,"seconds":1,"images_per_second":10}
{"epoch":2,"step":18,"val_accuracy":0.8,"val_loss":0.6,"seconds":3,"images_per_second":30}
{"epoch":3,"step":27,"val_accuracy":0.8,"val_loss":0.5,"seconds":1,"images_per_second":10}
{"epoch":4,"step":36,"val_accuracy":null,"val_loss":null,"seconds":1,"images_per_second":10}
)"});
  const RunRecord run = read_run(folder("a"));
  EXPECT_EQ(run.status.state, RunState::stopped);
  EXPECT_EQ(run.metrics.at("best_epoch"), 3) << "among equals the lower loss";
  EXPECT_EQ(run.metrics.at("val_loss"), 0.5);
  EXPECT_EQ(run.metrics.at("epochs"), 4);
  EXPECT_EQ(run.metrics.at("steps"), 36);
  EXPECT_EQ(run.metrics.at("seconds"), 6);
  EXPECT_EQ(run.metrics.at("images_per_second"), 20) << "of all epochs, by their time";
  EXPECT_FALSE(run.metrics.contains("step"));
  EXPECT_TRUE(std::isnan(run.epochs[3].at("val_loss")));
}

TEST_F(RunRecordTest, WithoutValidationTheLastEpochCounts) {
  make_run("a", {.metrics = "{\"epoch\":1,\"train_loss\":0.1}\n{\"epoch\":2,\"train_loss\":0.2}\n"});
  EXPECT_EQ(read_run(folder("a")).metrics.at("train_loss"), 0.2);
  make_run("b", {.metrics = "{\"epoch\":1,\"val_accuracy\":null}\n"});
  EXPECT_TRUE(std::isnan(read_run(folder("b")).metrics.at("val_accuracy")));
}

TEST_F(RunRecordTest, TheStateIsWhatTheFilesAndTheLockSay) {
  make_run("finished", {.state = "finished"});
  make_run("stopped", {.state = "stopped"});
  make_run("diverged", {.state = "diverged"});
  make_run("failed", {.state = "failed"});
  make_run("killed", {.state = "running"});
  make_run("trained", {.state = "stopped"});
  RunLock lock;
  ASSERT_TRUE(lock.take(folder("trained")));
  EXPECT_EQ(read_run(folder("finished")).status.state, RunState::finished);
  EXPECT_EQ(read_run(folder("stopped")).status.state, RunState::stopped);
  EXPECT_EQ(read_run(folder("diverged")).status.state, RunState::diverged);
  EXPECT_EQ(read_run(folder("failed")).status.state, RunState::failed);
  EXPECT_EQ(read_run(folder("killed")).status.state, RunState::stopped);
  EXPECT_EQ(read_run(folder("trained")).status.state, RunState::running);

  make_run("old", {.summary = "{}"});
  std::filesystem::remove(folder("old") / "status.json");
  EXPECT_EQ(read_run(folder("old")).status.state, RunState::finished);
}

TEST_F(RunRecordTest, ASummaryOfAnEarlierEndIsNotTaken) {
  make_run("a", {.state = "stopped", .summary = R"({"test_accuracy": 0.6, "val_accuracy": 0.9, "command": "c"})"});
  const RunRecord run = read_run(folder("a"));
  EXPECT_FALSE(run.metrics.contains("test_accuracy"));
  EXPECT_EQ(run.metrics.at("val_accuracy"), 0.8);
  EXPECT_EQ(run.command, "c");
}

TEST_F(RunRecordTest, NamesWhatIsDamaged) {
  const std::string huge(100'000, '[');
  make_run("a",
           {.state = "asleep",
            .metrics = "{\"epoch\":1,\"val_accuracy\":0.5}\nno json\n{\"epoch\":\"2\"}\n\n" + huge + "\n{\"epoch\":2,",
            .config = "model = ",
            .summary = "[1]"});
  const RunRecord run = read_run(folder("a"));
  EXPECT_EQ(run.epochs.size(), 1u);
  EXPECT_EQ(run.metrics.at("val_accuracy"), 0.5);
  const auto has = [&](const std::string& part) {
    return std::ranges::any_of(run.problems, [&](const std::string& p) { return p.find(part) != std::string::npos; });
  };
  EXPECT_TRUE(has("status.json tells no state"));
  EXPECT_TRUE(has("config.toml:1: "));
  EXPECT_TRUE(has("summary.json is not a JSON object"));
  for (const char* line : {":2 ", ":3 ", ":4 ", ":5 ", ":6 "})
    EXPECT_TRUE(has(std::string("metrics.jsonl") + line)) << line;
  EXPECT_EQ(run.problems.size(), 8u);
}

TEST_F(RunRecordTest, AnEpochIsAPositiveWholeNumber) {
  make_run("a", {.metrics = "{\"epoch\":0}\n{\"epoch\":-1}\n{\"epoch\":1.5}\n{\"epoch\":1e3}\n{\"epoch\":7}\n"});
  const RunRecord run = read_run(folder("a"));
  EXPECT_EQ(run.epochs.size(), 1u);
  EXPECT_EQ(run.problems.size(), 4u);
}

TEST_F(RunRecordTest, ALineUnderWayIsNoDamage) {
  make_run("a", {.metrics = "{\"epoch\":1}\n{\"epo"});
  EXPECT_EQ(read_run(folder("a")).problems.size(), 1u);
  RunLock lock;
  ASSERT_TRUE(lock.take(folder("a")));
  EXPECT_TRUE(read_run(folder("a")).problems.empty());
}

TEST_F(RunRecordTest, FilesThatAreNotThereAreNoMetrics) {
  make_run("a", {});
  for (const char* name : {"metrics.jsonl", "config.toml"}) std::filesystem::remove(folder("a") / name);
  const RunRecord run = read_run(folder("a"));
  EXPECT_TRUE(run.metrics.empty());
  ASSERT_EQ(run.problems.size(), 1u);
  EXPECT_NE(run.problems[0].find("config.toml is not there"), std::string::npos);
  std::filesystem::create_directory(folder("a") / "metrics.jsonl");
  EXPECT_EQ(read_run(folder("a")).problems.size(), 2u);
}

TEST_F(RunRecordTest, RunsAreFoundInSubfolders) {
  for (const char* name : {"cnn-10", "cnn-2", "deep/er/a", "cnn-2/inside", ".hidden"}) make_run(name, {});
  std::filesystem::create_directory(folder("empty"));
  data::write(folder("empty") / "log.txt", "of somebody else");
  std::filesystem::create_directory_symlink(folder(""), folder("deep/loop"));
  std::vector<std::string> problems;
  const std::vector<std::filesystem::path> runs = find_runs(folder(""), problems);
  std::vector<std::string> names;
  for (const auto& run : runs) names.push_back(run.lexically_relative(folder("")).string());
  EXPECT_EQ(names, (std::vector<std::string>{"cnn-2", "cnn-2/inside", "cnn-10", "deep/er/a"}));
  EXPECT_TRUE(problems.empty());
  expect_error(ErrorCode::usage, "there is no folder", [&] { find_runs(folder("nowhere"), problems); });
}

TEST_F(RunRecordTest, ARunIsNamedByItsFolder) {
  make_run("cnn-1", {});
  EXPECT_EQ(named_run(folder("cnn-1").string()), folder("cnn-1"));
  EXPECT_EQ(named_run(folder("cnn-1").string() + "/"), folder("cnn-1"));
  expect_error(ErrorCode::usage, "cnn-2' (did you mean '" + folder("cnn-1").string() + "'?)",
               [&] { named_run(folder("cnn-2").string()); });
  expect_error(ErrorCode::usage, "is not the directory of a run", [&] { named_run(folder("").string()); });
  expect_error(ErrorCode::usage, "there is no run 'zebra'", [&] { named_run("zebra"); });
}

}  // namespace
}  // namespace lockring::app
