// Whole runs of `lockring train`, within this process.
#include "apps/train/trainer.h"
#include "core/files.h"
#include "models/models.h"
#include "nn/bundle.h"
#include "tests/apps/scoped_variable.h"
#include "tests/apps/small_training.h"
#include "tests/data/small_files.h"

#include <algorithm>
#include <cmath>

namespace lockring::app {
namespace {

namespace fs = std::filesystem;

using TrainRunTest = TrainCommandTest;

TEST_F(TrainRunTest, TheSameCommandGivesTheSameBits) {
  const std::vector<std::string> recipe = {"--model", "cnn_bn", "--augment", "crop:2,flip"};
  train_well("a", recipe);
  train_well("b", recipe);
  expect_same_results("a", "b");
  std::vector<std::string> other = recipe;
  other.insert(other.end(), {"--seed", "2"});
  train_well("c", other);
  EXPECT_NE(bytes("a", "last.safetensors"), bytes("c", "last.safetensors"));
}

TEST_F(TrainRunTest, ShardsMakeTheBitsIndependentOfReplicas) {
  for (const char* replicas : {"1", "2", "4"}) {
    train_well(replicas, {"--model", "cnn", "--shards", "4", "--replicas", replicas, "--augment", "flip"});
    expect_same_results("1", replicas);
  }
  const std::vector<std::string> recipe = {"--model", "cnn", "--shards", "4", "--augment", "flip"};
  std::vector<std::string> here = recipe;
  here.insert(here.end(), {"--replicas", "2", "--max-steps", "13"});
  train_well("moved", here);
  std::vector<std::string> there = recipe;
  there.insert(there.end(), {"--replicas", "1", "--resume"});
  train_well("moved", there);
  expect_same_results("1", "moved");
}

TEST_F(TrainRunTest, TheSummaryTellsAll) {
  const CapturedRun run = train("a run", {"--json", "--seed", "18446744073709551615"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, bytes("a run", "summary.json"));
  const nlohmann::json json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["model"], "mlp");
  EXPECT_EQ(json["parameters"], 324 * 512 + 512 + 5120 + 10);
  EXPECT_EQ(json["epochs"], 2);
  EXPECT_EQ(json["seed"], 18446744073709551615u);
  EXPECT_EQ(json["replicas"], 2);
  EXPECT_GT(json["images_per_second"], 0);
  EXPECT_GT(json["wall_seconds"], 0);
  EXPECT_GT(json["data_wait_fraction"], 0);
  EXPECT_LT(json["data_wait_fraction"], 1);
  EXPECT_GT(json["peak_rss_bytes"], 1 << 20);
  EXPECT_EQ(json["data_digest"], dataset().digest);
  EXPECT_EQ(json["bundle"], (folder("a run") / "best.safetensors").string());
  const std::string command = json["command"];
  EXPECT_NE(command.find("lockring train "), std::string::npos);
  EXPECT_NE(command.find("--run-dir '" + folder("a run").string() + "'"), std::string::npos) << command;

  const nn::Bundle best = nn::load_bundle(folder("a run") / "best.safetensors");
  for (const char* metric : {"val_accuracy", "val_loss", "test_accuracy", "test_loss"})
    EXPECT_EQ(best.info.metrics.at(metric), json[metric].get<double>()) << metric;
  EXPECT_EQ(best.info.metrics.at("epoch"), json["best_epoch"].get<double>());
}

TEST_F(TrainRunTest, QuietLeavesOnlyTheResult) {
  const CapturedRun quiet = train("a");
  EXPECT_EQ(quiet.err, "");
  EXPECT_EQ(quiet.out.rfind("test accuracy 0.", 0), 0u) << quiet.out;
  EXPECT_NE(bytes("a", "log.txt").find("epoch 2/2"), std::string::npos);
}

TEST_F(TrainRunTest, TheLossIsTheSumOfAllSteps) {
  train_well("a", {"--model", "mlp", "--epochs", "2", "--label-smoothing", "0.1", "--augment", "flip"});
  const data::Dataset data = dataset();
  const data::Transform transform = data::Transform::parse("normalize,flip", data.statistics);
  const models::Architecture& mlp = models::find_architecture("mlp");
  TrainerOptions options;
  options.build = [&] { return mlp.build({kSmallImage, kSmallImage, 1, 10}); };
  options.replicas = 2;
  options.seed = 1;
  options.optimizer = {.name = "adam"};
  options.label_smoothing = 0.1;
  Trainer trainer(options, data.train, transform);
  const data::Holdout holdout = data::stratified_holdout(data.train.labels, 0.1, 1);
  std::int64_t step = 0;
  for (const nlohmann::json& line : metrics("a")) {
    const std::int64_t epoch = line["epoch"].get<std::int64_t>() - 1;
    const std::vector<std::uint32_t> order = data::epoch_order(holdout.train, 1, epoch);
    StepResult sum;
    for (std::size_t begin = 0; begin < order.size(); begin += 64, ++step) {
      const auto batch = std::span(order).subspan(begin, std::min<std::size_t>(64, order.size() - begin));
      const StepResult result = trainer.step(batch, epoch, step, 1e-3);
      sum.loss_sum += result.loss_sum;
      sum.count += result.count;
      sum.correct += result.correct;
    }
    EXPECT_EQ(sum.count, static_cast<std::int64_t>(order.size()));
    EXPECT_EQ(line["step"], step);
    EXPECT_EQ(line["train_loss"].get<double>(), sum.loss_sum / static_cast<double>(sum.count));
    EXPECT_EQ(line["train_accuracy"].get<double>(), static_cast<double>(sum.correct) / static_cast<double>(sum.count));
  }
}

TEST_F(TrainRunTest, StopsEarlyOncePatienceIsAtItsEnd) {
  // Steps too small to change a prediction: the first epoch stays the best.
  train_well("a", {"--lr", "1e-12", "--optimizer", "sgd", "--momentum", "0", "--epochs", "50", "--early-stop", "2"});
  const nlohmann::json json = summary("a");
  EXPECT_LT(json["epochs"], 10);
  EXPECT_EQ(json["epochs"].get<int>(), json["best_epoch"].get<int>() + 2);
  EXPECT_EQ(metrics("a").size(), json["epochs"].get<std::size_t>());
}

TEST_F(TrainRunTest, WithoutValidationTheLastParametersCount) {
  train_well("a", {"--val-fraction", "0"});
  const nlohmann::json json = summary("a");
  EXPECT_TRUE(json["val_accuracy"].is_null());
  EXPECT_EQ(json["best_epoch"], 0);
  EXPECT_FALSE(metrics("a").front().contains("val_loss"));
  const nn::Bundle best = nn::load_bundle(folder("a") / "best.safetensors");
  const nn::Bundle last = nn::load_bundle(folder("a") / "last.safetensors");
  for (std::size_t i = 0; i < best.parameters.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(best.parameters[i].tensor.values(), last.parameters[i].tensor.values()));
}

TEST_F(TrainRunTest, TheConfigurationCanBeUsedAgain) {
  train_well("a", {"--lr", "0.002", "--augment", "crop:1", "--ema", "0.5", "--schedule", "cosine", "--nesterov",
                   "--optimizer", "sgd", "--shards", "4"});
  const CapturedRun run = captured_run(
      {"train", "--config", (folder("a") / "config.toml").string(), "--run-dir", folder("b").string(), "--quiet"});
  ASSERT_EQ(run.code, 0) << run.err;
  expect_same_results("a", "b");
  EXPECT_EQ(bytes("a", "config.toml"), bytes("b", "config.toml"));
}

TEST_F(TrainRunTest, StartsFromABundle) {
  train_well("a");
  train_well("b", {"--init-from", (folder("a") / "best.safetensors").string(), "--ema", "0.999", "--lr", "1e-9",
                   "--max-steps", "1"});
  EXPECT_NEAR(summary("b")["test_loss"].get<double>(), summary("a")["test_loss"].get<double>(), 1e-3)
      << "the average begins where the parameters do";
}

TEST_F(TrainRunTest, TracesSteadySteps) {
  const fs::path file = directory_ / "trace.json";
  const auto steps_of = [&](const fs::path& path) {
    std::vector<std::string> steps;
    const nlohmann::json json = nlohmann::json::parse(read_file(path));
    for (const nlohmann::json& event : json["traceEvents"])
      if (event["tid"] == 0 && event.value("cat", "") == "step") steps.push_back(event["name"]);
    return steps;
  };
  const CapturedRun run = train("a", {"--trace", file.string(), "--trace-steps", "2"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(steps_of(file), (std::vector<std::string>{"step 11", "step 12"}));
  EXPECT_NE(run.out.find("where the time of a step goes (mean of 2 steps of 2 replicas)"), std::string::npos)
      << run.out;
  EXPECT_EQ(bytes("a", "config.toml").find("trace"), std::string::npos) << "it is no part of the recipe";

  // Shorter runs warm up as long as they can, and are traced as far as they go.
  const CapturedRun shorter =
      train("b", {"--trace", file.string(), "--trace-steps", "2", "--max-steps", "4", "--json"});
  EXPECT_EQ(steps_of(file), (std::vector<std::string>{"step 3", "step 4"}));
  const nlohmann::json trace = nlohmann::json::parse(shorter.out)["trace"];
  EXPECT_EQ(trace["steps"], 2);
  double share = 0;
  for (const nlohmann::json& part : trace["parts"])
    if (!part.contains("layer")) share += part["share"].get<double>();
  EXPECT_NEAR(share, 1, 1e-6);
  train("c", {"--trace", file.string(), "--max-steps", "1"});
  EXPECT_EQ(steps_of(file), (std::vector<std::string>{"step 1"}));
  train_well("d");
  expect_same_results("a", "d");
}

TEST_F(TrainRunTest, ATraceThatCannotBeWrittenCostsAWarning) {
  const CapturedRun run = train("a", {"--trace", (directory_ / "none" / "t.json").string()});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(run.err, "lockring: warning: cannot write " + (directory_ / "none" / "t.json").string() +
                         ": No such file or directory; training goes on without it\n");
  EXPECT_NE(run.out.find("where the time of a step goes"), std::string::npos);
}

TEST_F(TrainRunTest, TextFilesThatCannotBeWrittenCostAWarningEach) {
  train_well("whole");
  train_well("a", {"--max-steps", "3"});
  const std::vector<std::string> names = {"status.json", "metrics.jsonl", "log.txt", "summary.json"};
  for (const std::string& name : names) {
    fs::remove(folder("a") / name);
    fs::create_directory(folder("a") / name);
  }
  const CapturedRun run = train("a", {"--resume"});
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(std::ranges::count(run.err, '\n'), std::ssize(names)) << run.err;
  for (const std::string& name : names)
    EXPECT_NE(run.err.find("lockring: warning: cannot write " + (folder("a") / name).string() + ": Is a directory"),
              std::string::npos)
        << run.err;
  for (const char* file : {"best.safetensors", "last.safetensors"})
    EXPECT_TRUE(bytes("a", file) == bytes("whole", file));
}

TEST_F(TrainRunTest, TheStatusTellsHowItEnded) {
  const auto status = [&](const std::string& name) { return nlohmann::json::parse(bytes(name, "status.json")); };
  train_well("a");
  EXPECT_EQ(status("a")["state"], "finished");
  EXPECT_FALSE(status("a").contains("message"));
  const CapturedRun diverged = train("b", {"--lr", "1e20"});
  EXPECT_EQ(status("b")["state"], "diverged");
  EXPECT_EQ(diverged.err, "lockring: " + status("b")["message"].get<std::string>() + "\n");
}

TEST_F(TrainRunTest, EpochsTellTheirMemory) {
  train_well("a");
  for (const nlohmann::json& line : metrics("a")) EXPECT_GT(line["resident_bytes"], 1 << 20);
}

TEST_F(TrainRunTest, ADivergedRunKeepsItsCheckpoint) {
  const CapturedRun run = train("a", {"--lr", "1e20"});
  EXPECT_EQ(run.code, 5);
  EXPECT_EQ(run.out, "");
  EXPECT_NE(run.err.find("not finite at step 2: first in layer '"), std::string::npos) << run.err;
  EXPECT_EQ(std::ranges::count(run.err, '\n'), 1);
  const nn::Bundle last = nn::load_bundle(folder("a") / "last.safetensors");
  EXPECT_EQ(last.training.at("step"), "0");
  for (const nn::NamedTensor& parameter : last.parameters)
    EXPECT_TRUE(std::ranges::all_of(parameter.tensor.values(), [](float v) { return std::abs(v) < 10; }));
  EXPECT_NE(bytes("a", "log.txt").find("not finite at step 2"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder("a") / "summary.json"));
}

// The step that ends an epoch has no successor to see what it did.
TEST_F(TrainRunTest, ADivergedLastStepIsSeenAsWell) {
  for (const char* val_fraction : {"0.1", "0"}) {
    const std::string name = std::string("a") + val_fraction;
    const CapturedRun run = train(name, {"--lr", "1e20", "--max-steps", "1", "--val-fraction", val_fraction});
    EXPECT_EQ(run.code, 5);
    EXPECT_NE(run.err.find("not finite after step 1: first in layer '"), std::string::npos) << run.err;
    EXPECT_EQ(nn::load_bundle(folder(name) / "last.safetensors").training.at("step"), "0");
  }
}

TEST_F(TrainRunTest, WrongOptionsAreRefusedBeforeAnythingIsMade) {
  expect_refused({"--model", "cmn"}, 2, "there is no model 'cmn' (did you mean 'cnn'?)");
  expect_refused({"--optimizer", "adm"}, 2, "did you mean 'adam'?");
  expect_refused({"--schedule", "cosin"}, 2, "did you mean 'cosine'?");
  expect_refused({"--batchsize", "3"}, 2, "unknown option '--batchsize' (did you mean '--batch-size'?)");
  expect_refused({"--augment", "flop"}, 2, "did you mean 'flip'?");
  expect_refused({"--augment", "crop:400"}, 2, "crop");
  expect_refused({"--batch-size", "539"}, 2,
                 "--batch-size 539 is more than the 538 training images that are not held out");
  expect_refused({"--batch-size", "0"}, 2, "--batch-size 0 is not possible; at least 1");
  expect_refused({"--batch-size", "-8"}, 2, "--batch-size -8");
  expect_refused({"--epochs", "0"}, 2, "--epochs 0");
  expect_refused({"--epochs", "9223372036854775807"}, 2, "--epochs 9223372036854775807");
  expect_refused({"--max-steps", "-1"}, 2, "--max-steps -1");
  expect_refused({"--warmup-steps", "18"}, 2, "warm-up must be shorter than training: 18 of 18 steps");
  expect_refused({"--lr", "0"}, 2, "--lr 0 is not possible; above 0");
  expect_refused({"--lr", "nan"}, 2, "--lr: expected a number, found 'nan'");
  expect_refused({"--lr", "inf"}, 2, "--lr: inf is out of range");
  expect_refused({"--momentum", "1", "--optimizer", "sgd"}, 2, "momentum must be in [0, 1), not 1");
  expect_refused({"--weight-decay", "-1"}, 2, "weight decay must be at least 0, not -1");
  expect_refused({"--label-smoothing", "1"}, 2, "--label-smoothing 1 is not possible");
  expect_refused({"--label-smoothing", "0.9999999999"}, 2, "--label-smoothing 0.9999999999 is not possible");
  expect_refused({"--clip-norm", "-1"}, 2, "--clip-norm -1");
  expect_refused({"--ema", "1"}, 2, "must be in [0, 1), not 1");
  expect_refused({"--ema", "2"}, 2, "must be in [0, 1), not 2");
  expect_refused({"--val-fraction", "1"}, 2, "expected at least 0 and below 1, found 1");
  expect_refused({"--val-fraction", "1e-9"}, 2, "holds out none");
  expect_refused({"--early-stop", "-1"}, 2, "--early-stop -1");
  expect_refused({"--early-stop", "1", "--val-fraction", "0"}, 2, "--early-stop needs a --val-fraction above 0");
  expect_refused({"--seed", "-1"}, 2, "--seed: -1 is out of range");
  expect_refused({"--seed", "18446744073709551616"}, 2, "--seed: 18446744073709551616 is out of range");
  expect_refused({"--replicas", "0"}, 2, "--replicas takes 'auto' or a number from 1 to 1024, not '0'");
  expect_refused({"--replicas", "4294967297"}, 2, "--replicas takes");
  expect_refused({"--micro-batch", "many"}, 2, "--micro-batch takes");
  expect_refused({"--shards", "3"}, 2, "--shards 3 is not a multiple of the 2 replicas");
  expect_refused({"--trace-steps", "0"}, 2, "--trace-steps 0 is not possible; from 1 to 1000");
  expect_refused({"--shards", "1000000"}, 2, "--shards 1000000 is not possible");
}

TEST_F(TrainRunTest, WrongFilesAreRefusedBeforeAnythingIsMade) {
  const auto path = [&](const char* name) { return (directory_ / name).string(); };
  expect_refused({"--dataset", "smal"}, 3, "smal");
  expect_refused({"--data-dir", path("nowhere")}, 3, "nowhere");
  data::write(path("file"), "a file");
  expect_refused({"--data-dir", path("file")}, 3, "file");
  expect_refused({"--run-dir", path("file")}, 2, "file exists already; give another --run-dir");
  expect_refused({"--run-dir", path("file/run")}, 3, "cannot make the run directory");
  expect_refused({"--init-from", path("nothing")}, 3, "nothing");
  expect_refused({"--init-from", path("file")}, 3, "file");
  train_well("lenet", {"--model", "lenet", "--max-steps", "1"});
  expect_refused({"--init-from", path("lenet/best.safetensors")}, 3, "from another architecture");
}

TEST_F(TrainRunTest, WrongConfigurationIsRefusedBeforeAnythingIsMade) {
  const std::string file = (directory_ / "c.toml").string();
  const auto refuse = [&](const char* text, const std::string& part) {
    data::write(file, text);
    expect_refused({"--config", file}, 2, part);
  };
  refuse("ecpochs = 3\n", "unknown key 'ecpochs' (did you mean 'epochs'?)");
  refuse("[train]\nlr = \"fast\"\n", "--lr: expected a number, found 'fast'");
  refuse("early-stop = 1.5\n", "--early-stop: expected a whole number, found '1.5'");
  refuse("clip-norm = [1, 2]\n", "--clip-norm: expected one value, found 2");
  refuse("nesterov = \"perhaps\"\n", "--nesterov");
  refuse("run-dir = \"x\"\n", "unknown key 'run-dir'");
  expect_refused({"--config", (directory_ / "none.toml").string()}, 2, "cannot read the configuration file");

  const ScopedVariable garbage("LOCKRING_CLIP_NORM", "\x01garbage");
  expect_refused({}, 2, "--clip-norm: expected a number, found '\\x01garbage'");
}

TEST_F(TrainRunTest, SmallBatchesAndOddPlacementsTrain) {
  train_well("one_by_one", {"--micro-batch", "1", "--max-steps", "2", "--model", "cnn_bn"});
  train_well("last_of_one", {"--batch-size", "537", "--model", "cnn_bn"});
  train_well("batch_of_one", {"--batch-size", "1", "--max-steps", "5", "--replicas", "4", "--model", "resnet"});
  train_well("whole", {"--batch-size", "600", "--val-fraction", "0"});
  train_well("many", {"--replicas", "33", "--max-steps", "2"});
  train_well("huge", {"--micro-batch", "9223372036854775807", "--max-steps", "1"});
  train_well("größe mit Leerzeichen", {"--max-steps", "1"});
  train_well("not utf-8 \xff", {"--max-steps", "1"});
  EXPECT_NE(summary("not utf-8 \xff")["bundle"].get<std::string>().find("not utf-8"), std::string::npos);
}

}  // namespace
}  // namespace lockring::app
