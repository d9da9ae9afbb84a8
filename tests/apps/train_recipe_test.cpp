// `lockring train --recipe`: named defaults.
#include "models/recipes.h"
#include "tests/apps/scoped_variable.h"
#include "tests/apps/small_training.h"
#include "tests/data/small_files.h"

namespace lockring::app {
namespace {

// A run's effective options.
class TrainRecipeTest : public TrainCommandTest {
 protected:
  std::string config_of(const std::vector<std::string>& more) const {
    std::vector<std::string> arguments = {"train",       "--quiet",
                                          "--dataset",   "small",
                                          "--max-steps", "1",
                                          "--data-dir",  (directory_ / "store").string(),
                                          "--run-dir",   folder("run").string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::filesystem::remove_all(folder("run"));
    const CapturedRun run = captured_run(arguments);
    EXPECT_EQ(run.code, 0) << run.err;
    return bytes("run", "config.toml");
  }
};

TEST_F(TrainRecipeTest, EveryRecipeTrains) {
  for (const models::Recipe& recipe : models::recipes()) {
    const std::string config = config_of({"--recipe", std::string(recipe.name), "--batch-size", "32"});
    EXPECT_NE(config.find("schedule = \"onecycle\"\n"), std::string::npos) << config;
  }
}

TEST_F(TrainRecipeTest, WhateverIsSetWins) {
  data::write(directory_ / "my.toml", "weight-decay = 0.25\nlr = 0.5\n");
  const ScopedVariable variable("LOCKRING_LABEL_SMOOTHING", "0.125");
  const std::string config =
      config_of({"--recipe", "quick", "--lr", "0.01", "--config", (directory_ / "my.toml").string()});
  for (const char* line : {"recipe = \"quick\"\n", "lr = 0.01\n", "weight-decay = 0.25\n", "label-smoothing = 0.125\n",
                           "optimizer = \"sgd\"\n", "model = \"cnn\"\n"})
    EXPECT_NE(config.find(line), std::string::npos) << line << config;
}

TEST_F(TrainRecipeTest, ARunCanBeRepeatedFromItsConfiguration) {
  const std::string config = config_of({"--recipe", "quick", "--seed", "3"});
  data::write(directory_ / "again.toml", config);
  EXPECT_EQ(config_of({"--config", (directory_ / "again.toml").string()}), config);
}

TEST_F(TrainRecipeTest, AnUnknownRecipeIsRefused) { expect_refused({"--recipe", "quik"}, 2, "did you mean 'quick'?"); }

}  // namespace
}  // namespace lockring::app
