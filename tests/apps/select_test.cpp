#include "apps/select/selection.h"

#include "apps/select/rank.h"
#include "core/files.h"
#include "nn/bundle.h"
#include "tests/apps/captured_run.h"
#include "tests/apps/run_folder.h"
#include "tests/apps/small_training.h"
#include "tests/support/errors.h"

#include <algorithm>

namespace lockring::app {
namespace {

namespace fs = std::filesystem;

class RankTest : public RunFolderTest {
 protected:
  // A finished run of one epoch.
  void add(const std::string& name, const std::string& accuracy, const std::string& loss, int parameters,
           const std::string& state = "finished") const {
    make_run(name, {.state = state,
                    .metrics =
                        fmt::format("{{\"epoch\":1,\"step\":9,\"val_accuracy\":{},\"val_loss\":{}}}\n", accuracy, loss),
                    .summary = fmt::format("{{\"parameters\":{}}}", parameters)});
    data::write(folder(name) / "best.safetensors", "");
  }
  std::vector<std::string> ranked(const std::string& metric) const {
    std::vector<std::string> problems;
    std::vector<RunRecord> runs;
    for (const fs::path& path : find_runs(directory_.path(), problems)) runs.push_back(read_run(path));
    rank_to_select(runs, metric);
    std::vector<std::string> names;
    for (const RunRecord& run : runs) names.push_back(run.path.filename().string());
    return names;
  }
};

TEST_F(RankTest, TiesGoByLossThenParametersThenTime) {
  add("later", "0.9", "0.3", 100);
  add("larger", "0.9", "0.3", 200);
  add("lossy", "0.9", "0.4", 50);
  add("best", "0.91", "0.9", 900);
  add("earlier", "0.9", "0.3", 100);
  const auto time = fs::last_write_time(folder("later") / "config.toml");
  fs::last_write_time(folder("earlier") / "config.toml", time - std::chrono::hours(1));
  EXPECT_EQ(ranked("val_accuracy"), (std::vector<std::string>{"best", "earlier", "later", "larger", "lossy"}));
}

TEST_F(RankTest, WhatIsNotFinishedOrHasNoValueComesLastAndIsNamed) {
  add("good", "0.5", "1", 1);
  add("stopped", "0.9", "1", 1, "stopped");
  add("nan", "null", "1", 1);
  EXPECT_EQ(ranked("val_accuracy"), (std::vector<std::string>{"good", "stopped", "nan"}));
  EXPECT_EQ(why_not(read_run(folder("good")), "val_accuracy"), "");
  EXPECT_NE(why_not(read_run(folder("stopped")), "val_accuracy").find("not finished"), std::string::npos);
  EXPECT_NE(why_not(read_run(folder("nan")), "val_accuracy").find("not finite"), std::string::npos);
  EXPECT_EQ(why_not(read_run(folder("good")), "test_accuracy"), "has no test_accuracy");
}

TEST_F(RankTest, AskingForMoreThanThereAreNamesTheOthers) {
  add("good", "0.5", "1", 1);
  add("nan", "null", "1", 1);
  const CapturedRun run = captured_run({"select", directory_.path().string(), "--top", "2", "--unchecked"});
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("nan val_accuracy is not finite"), std::string::npos) << run.err;
  const CapturedRun unknown = captured_run({"select", directory_.path().string(), "--by", "val_acuracy"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("did you mean 'val_accuracy'"), std::string::npos) << unknown.err;
}

class SelectionTest : public testing::Test {
 protected:
  fs::path path() const { return directory_ / "selection.json"; }
  Selection selection() const {
    SelectedModel model;
    model.name = "a";
    model.bundle = directory_ / "runs" / "a" / "best.safetensors";
    model.digest = std::string(64, 'a');
    model.metrics = {{"val_accuracy", 0.5}};
    model.reproduced = true;
    return {.metric = "val_accuracy", .models = {model}};
  }
  void replace(const std::string& what, const std::string& by) const {
    std::string text = read_file(path());
    const std::size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << text;
    data::write(path(), text.replace(at, what.size(), by));
  }

  TemporaryDirectory directory_;
};

TEST_F(SelectionTest, ComesBackAsItWasAndMovesWithItsBundles) {
  write_selection(path(), selection());
  const Selection read = read_selection(path());
  ASSERT_EQ(read.models.size(), 1u);
  EXPECT_EQ(fs::weakly_canonical(read.models[0].bundle), fs::weakly_canonical(selection().models[0].bundle));
  EXPECT_EQ(read.models[0].metrics, selection().models[0].metrics);
  EXPECT_TRUE(read.models[0].reproduced);
  EXPECT_NE(read_file(path()).find("\"bundle\": \"runs/a/best.safetensors\""), std::string::npos);
}

TEST_F(SelectionTest, WhatIsNoneIsRefused) {
  const auto refused = [&](const std::string& what, const std::string& by, const char* why) {
    write_selection(path(), selection());
    replace(what, by);
    expect_error(ErrorCode::data, why, [&] { read_selection(path()); });
  };
  refused("lockring-selection", "other", "is not a selection");
  refused("\"format_version\": 1", "\"format_version\": 2", "format version 1, found 2");
  refused("\"name\": \"a\"", "\"name\": \"../a\"", "name is '../a'");
  refused("\"name\": \"a\"", "\"name\": 3", "name is ''");
  refused(std::string(64, 'a'), "abc", "expected 64 hexadecimal digits");
  refused("runs/a/best.safetensors", "", "has no bundle");
  data::write(path(), "{");
  expect_error(ErrorCode::data, "is not a selection", [&] { read_selection(path()); });
}

TEST(ModelName, IsFitForAddressesAndFiles) {
  for (const char* good : {"a", "cnn-1", "A.b_c"}) EXPECT_TRUE(is_model_name(good)) << good;
  for (const char* bad : {"", ".a", "..", "a/b", "a b", "\xc3\xa4", "a\n"}) EXPECT_FALSE(is_model_name(bad)) << bad;
  EXPECT_FALSE(is_model_name(std::string(129, 'a')));
  EXPECT_EQ(model_name_for("cnn 1", {}), "cnn_1");
  EXPECT_EQ(model_name_for("..", {}), "model");
  EXPECT_EQ(model_name_for("a", {"a", "a-2"}), "a-3");
  EXPECT_TRUE(is_model_name(model_name_for(std::string(500, 'x'), {})));
}

TEST_F(TrainCommandTest, SelectReproducesWhatTheRunSays) {
  train_well("one", {"--epochs", "2"});
  const std::string output = folder("selection.json").string();
  const CapturedRun run = captured_run({"select", folder("one").string(), "--data-dir", folder("store").string(),
                                        "--dataset", "small", "--output", output});
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("computed again"), std::string::npos) << run.out;
  const Selection selection = read_selection(output);
  EXPECT_EQ(selection.models.at(0).digest, nn::bundle_digest(folder("one") / "best.safetensors"));
}

}  // namespace
}  // namespace lockring::app
