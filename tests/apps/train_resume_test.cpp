// Runs of `lockring train` that are stopped and resumed, within this process.
#include "core/files.h"
#include "nn/bundle.h"
#include "tests/apps/small_training.h"
#include "tests/data/small_files.h"

#include <algorithm>

namespace lockring::app {
namespace {

namespace fs = std::filesystem;

using TrainResumeTest = TrainCommandTest;

struct Recipe {
  const char* name;
  std::vector<std::string> options;
};

class TrainStopsTest : public TrainCommandTest, public testing::WithParamInterface<Recipe> {
 protected:
  std::vector<std::string> with(std::vector<std::string> more) const {
    more.insert(more.begin(), GetParam().options.begin(), GetParam().options.end());
    return more;
  }
};

// 538 images in batches of 64 are 9 steps an epoch, the last of 26 images.
TEST_P(TrainStopsTest, ARunStoppedAnywhereEndsAsIfItNeverWas) {
  train_well("whole", with({"--epochs", "3"}));
  int runs = 0;
  for (const std::vector<const char*>& stops :
       std::vector<std::vector<const char*>>{{"4"}, {"9", "22"}, {"13", "14"}}) {
    const std::string name = "stopped" + std::to_string(++runs);
    bool resume = false;
    for (const char* stop : stops) {
      train_well(name, with({"--epochs", "3", "--max-steps", stop, resume ? "--resume" : "--quiet"}));
      resume = true;
    }
    train_well(name, with({"--epochs", "3", "--resume"}));
    expect_same_results("whole", name);
  }
}

INSTANTIATE_TEST_SUITE_P(
    , TrainStopsTest,
    testing::Values(Recipe{"adam", {}}, Recipe{"sgd", {"--optimizer", "sgd", "--lr", "0.05", "--nesterov"}},
                    Recipe{
                        "ema_onecycle",
                        {"--optimizer", "adamw", "--weight-decay", "0.01", "--ema", "0.9", "--schedule", "onecycle"}},
                    Recipe{"cnn_bn", {"--model", "cnn_bn", "--augment", "crop:2,flip", "--clip-norm", "1"}},
                    Recipe{"no_validation", {"--val-fraction", "0", "--label-smoothing", "0.1"}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(TrainResumeTest, MoreEpochsContinueAConstantRate) {
  train_well("long", {"--epochs", "3"});
  train_well("short", {"--epochs", "2"});
  train_well("short", {"--epochs", "3", "--resume"});
  expect_same_results("long", "short");
}

TEST_F(TrainResumeTest, AFinishedRunResumesToTheSameEnd) {
  train_well("a");
  const std::string last = bytes("a", "last.safetensors");
  const std::string best = bytes("a", "best.safetensors");
  train_well("a", {"--resume"});
  EXPECT_TRUE(bytes("a", "last.safetensors") == last);
  EXPECT_TRUE(bytes("a", "best.safetensors") == best);
  EXPECT_EQ(metrics("a").size(), 2u);
}

// An epoch that --max-steps cut short must not displace the best of a whole one: a resumed run would not know.
TEST_F(TrainResumeTest, APartOfAnEpochIsTheBestOnlyUntilThereIsAWholeOne) {
  train_well("a", {"--max-steps", "2"});
  EXPECT_EQ(summary("a")["best_epoch"], 1);
  EXPECT_TRUE(summary("a")["val_accuracy"].is_number());
  EXPECT_EQ(metrics("a").size(), 1u);
  train_well("a", {"--max-steps", "17", "--resume"});
  EXPECT_EQ(summary("a")["best_epoch"], 1);
  EXPECT_EQ(metrics("a").size(), 2u);
  EXPECT_TRUE(fs::exists(folder("a") / "last.safetensors"));
}

TEST_F(TrainResumeTest, RefusesAChangedRecipeAndChangesNothing) {
  train_well("a", {"--schedule", "cosine"});
  const auto refuse = [&](const std::vector<std::string>& change, const std::string& part) {
    std::vector<std::string> options = change;
    options.emplace_back("--resume");
    if (std::ranges::count(change, "--schedule") == 0) options.insert(options.end(), {"--schedule", "cosine"});
    const std::string before = bytes("a", "log.txt");
    const auto files = std::distance(fs::directory_iterator(folder("a")), fs::directory_iterator());
    const CapturedRun run = train("a", options);
    EXPECT_EQ(run.code, 2) << run.err;
    EXPECT_NE(run.err.find("the run to resume has " + part), std::string::npos) << run.err;
    EXPECT_EQ(bytes("a", "log.txt"), before);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder("a")), fs::directory_iterator()), files);
  };
  refuse({"--batch-size", "32"}, "--batch-size '64', not '32'; its options are in " + folder("a").string());
  refuse({"--lr", "0.01"}, "--lr '0.001', not '0.01'");
  refuse({"--model", "cnn"}, "--model 'mlp', not 'cnn'");
  refuse({"--optimizer", "sgd"}, "--optimizer 'adam', not 'sgd'");
  refuse({"--seed", "2"}, "--seed '1', not '2'");
  refuse({"--epochs", "3"}, "--epochs '2', not '3'");
  refuse({"--schedule", "constant"}, "--schedule 'cosine', not 'constant'");
  refuse({"--replicas", "1"}, "--shards '2', not '1'");
  refuse({"--augment", "flip"}, "--augment '', not 'flip'");
  refuse({"--ema", "0.5"}, "--ema '0', not '0.5'");
  refuse({"--micro-batch", "3"}, "--micro-batch '0', not '3'");
  refuse({"--val-fraction", "0.2"}, "--val-fraction '0.1', not '0.2'");
  refuse({"--sync-bn"}, "--sync-bn 'false', not 'true'");
}

// As programs made them that did not know these options yet.
TEST_F(TrainResumeTest, AKeyThatARecipeDoesNotHaveCountsAsWhatHeldThen) {
  train_well("whole");
  train_well("old", {"--max-steps", "9"});
  const fs::path last = folder("old") / "last.safetensors";
  nn::TensorFile file = nn::read_safetensors(last);
  for (const char* key : {"precision", "sync-bn"})
    EXPECT_EQ(file.metadata.erase(std::string("training.recipe.") + key), 1U) << key;
  nn::write_safetensors(last, file);
  const CapturedRun other = train("old", {"--resume", "--sync-bn"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("--sync-bn 'false', not 'true'"), std::string::npos) << other.err;
  train_well("old", {"--resume"});
  expect_same_results("whole", "old");
}

TEST_F(TrainResumeTest, ARunWithSynchronisedBatchNormIsNotResumedWithoutIt) {
  train_well("a", {"--model", "cnn_bn", "--sync-bn", "--max-steps", "2"});
  const CapturedRun run = train("a", {"--model", "cnn_bn", "--resume"});
  EXPECT_EQ(run.code, 2);
  EXPECT_NE(run.err.find("--sync-bn 'true', not 'false'"), std::string::npos) << run.err;
}

TEST_F(TrainResumeTest, GoesOnWithOtherShardsWhenAsked) {
  train_well("a", {"--replicas", "2", "--max-steps", "9"});
  EXPECT_EQ(train("a", {"--replicas", "1", "--resume"}).code, 2);
  train_well("a", {"--replicas", "1", "--resume", "--reshard"});
  EXPECT_EQ(metrics("a").size(), 2u);
}

TEST_F(TrainResumeTest, RefusesToResumeFromWhatIsNoCheckpoint) {
  train_well("a");
  const CapturedRun exists = train("a");
  EXPECT_EQ(exists.code, 2);
  EXPECT_NE(exists.err.find("exists already"), std::string::npos);
  EXPECT_EQ(train("none", {"--resume"}).code, 2);
  EXPECT_FALSE(fs::exists(folder("none")));

  fs::remove(folder("a") / "best.safetensors");
  const CapturedRun lost = train("a", {"--resume"});
  EXPECT_EQ(lost.code, 3);
  EXPECT_NE(lost.err.find("best.safetensors is missing"), std::string::npos) << lost.err;
}

TEST_F(TrainResumeTest, RefusesToResumeFromADamagedCheckpoint) {
  train_well("a");
  const fs::path last = folder("a") / "last.safetensors";
  const std::string whole = read_file(last);
  const auto refuse = [&](const std::string& part) {
    const CapturedRun run = train("a", {"--resume"});
    EXPECT_EQ(run.code, 3);
    EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  };
  data::write(last, whole.substr(0, whole.size() - 100));
  refuse("last.safetensors");
  data::write(last, bytes("a", "best.safetensors"));
  refuse("is a bundle, not a checkpoint to resume from");
  data::write(last, whole);
  nn::TensorFile file = nn::read_safetensors(last);
  const auto refuse_with = [&](const std::string& key, const std::string& value, const std::string& part) {
    nn::TensorFile changed = file;
    changed.metadata[key] = value;
    nn::write_safetensors(last, changed);
    refuse(part);
  };
  refuse_with("training.epoch_step", "100", "is at step 100 of an epoch of 9");
  refuse_with("training.epoch_step", "1", "which is not step 1 after");
  refuse_with("training.epoch", "7", "after 7 epochs of 9");
  refuse_with("training.step", "1000000", "is at step 1000000, which is not");
  file.metadata.erase("training.recipe.lr");
  nn::write_safetensors(last, file);
  refuse("does not say its --lr");
}

}  // namespace
}  // namespace lockring::app
