// `lockring train --recipe`: named defaults.
#include "distributed/device_communicator.h"
#include "models/recipes.h"
#include "tests/apps/scoped_variable.h"
#include "tests/apps/small_training.h"
#include "tests/data/small_files.h"

#include <nlohmann/json.hpp>

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

TEST_F(TrainRecipeTest, TheRateGrowsWithTheBatchIfAsked) {
  const auto rate_of = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"--lr", "0.01", "--batch-size", "32", "--base-batch-size", "8"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    config_of(arguments);
    return nlohmann::json::parse(bytes("run", "metrics.jsonl")).at("learning_rate").get<double>();
  };
  EXPECT_DOUBLE_EQ(rate_of({}), 0.01);
  EXPECT_DOUBLE_EQ(rate_of({"--lr-scaling", "linear"}), 0.04);
  EXPECT_DOUBLE_EQ(rate_of({"--lr-scaling", "sqrt"}), 0.02);
  EXPECT_DOUBLE_EQ(rate_of({"--lr-scaling", "linear", "--warmup-steps", "4"}), 0.01);
  EXPECT_LT(rate_of({"--lr-scaling", "linear", "--warmup-epochs", "1"}), 0.04);
  expect_refused({"--warmup-epochs", "1", "--warmup-steps", "2"}, 2, "exclude each other");
  expect_refused({"--lr-scaling", "cubic"}, 2, "--lr-scaling");
  expect_refused({"--lr-scaling", "linear", "--base-batch-size", "0"}, 2, "--base-batch-size 0");
}

TEST_F(TrainRecipeTest, OptionsOfJobsAreChecked) {
  expect_refused({"--timeout", "0"}, 2, "--timeout 0");
  expect_refused({"--check-parameters", "-1"}, 2, "--check-parameters -1");
  expect_refused({"--bucket-bytes", "many"}, 2, "--bucket-bytes");
  expect_refused({"--wire", "f16"}, 2, "--wire");
  expect_refused({"--precision", "f16"}, 2, "--precision");
  expect_refused({"--precision", "bf16", "--device", "cpu"}, 2, "--precision bf16 is for GPUs");
  expect_refused({"--allreduce", "mpi", "--shards", "2"}, 2, "--allreduce mpi does not");
  const bool built = !dist::nccl_version().empty();
  expect_refused({"--allreduce", "nccl", "--device", "cpu"}, 2, built ? "between GPUs" : "was built without NCCL");
  expect_refused({"--sync-bn", "--micro-batch", "16"}, 2, "--micro-batch 16 is not for --sync-bn");
}

TEST_F(TrainRecipeTest, AnUnknownRecipeIsRefused) { expect_refused({"--recipe", "quik"}, 2, "did you mean 'quick'?"); }

}  // namespace
}  // namespace lockring::app
