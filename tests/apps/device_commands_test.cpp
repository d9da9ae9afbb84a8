// Commands on a GPU, and what moves between it and the CPU.
#include "apps/loaded_model.h"
#include "core/devices.h"
#include "core/files.h"
#include "tests/apps/small_training.h"

#include <algorithm>

namespace lockring::app {
namespace {

using Json = nlohmann::json;

// Runs of one shard, which any device can go on with.
class DeviceCommandTest : public TrainCommandTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
  }

  void train_on(const std::string& device, const std::string& name, std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--device", device, "--replicas", "1", "--model", GetParam(), "--lr", "0.003"});
    train_well(name, more);
  }
  Json eval(const std::string& device, const std::string& name) const {
    const CapturedRun run = captured_run({"eval", (folder(name) / "best.safetensors").string(), "--dataset", "small",
                                          "--data-dir", (directory_ / "store").string(), "--device", device, "--json"});
    EXPECT_EQ(run.code, 0) << run.err;
    EXPECT_EQ(run.err, "");
    return Json::parse(run.out);
  }
};

TEST_P(DeviceCommandTest, ARunMovesBetweenDevices) {
  train_on("cpu", "cpu");
  for (const auto& [first, second] : {std::pair("cuda:0", "cuda:0"), {"cpu", "cuda:0"}, {"cuda:0", "cpu"}}) {
    const std::string name = fmt::format("{}_{}", first, second);
    train_on(first, name, {"--max-steps", "13"});
    train_on(second, name, {"--resume"});
    EXPECT_EQ(summary(name)["steps"], summary("cpu")["steps"]);
    EXPECT_NEAR(summary(name)["test_loss"], summary("cpu")["test_loss"], 0.02);
    EXPECT_NEAR(epochs(name).back()["train_loss"], epochs("cpu").back()["train_loss"], 0.02);
  }
}

// The sample that it holds is the CPU's answer to the last bit, whatever trained it.
TEST_P(DeviceCommandTest, ABundleIsTheSameEverywhere) {
  train_on("cuda", "gpu");
  const Json on_cpu = eval("cpu", "gpu");
  const Json on_gpu = eval("cuda", "gpu");
  EXPECT_EQ(on_cpu["golden_difference"], 0);
  EXPECT_EQ(on_gpu["golden_difference"], 0);
  EXPECT_NEAR(on_gpu["loss"], on_cpu["loss"], 1e-4);
  EXPECT_NEAR(on_gpu["accuracy"], on_cpu["accuracy"], 0.011);
  EXPECT_NEAR(summary("gpu")["test_loss"], on_cpu["loss"], 1e-4);
  EXPECT_GT(on_gpu["accuracy"], 0.2);
}

INSTANTIATE_TEST_SUITE_P(, DeviceCommandTest, testing::Values("mlp", "cnn"),
                         [](const auto& info) { return std::string(info.param); });

using DeviceRunTest = DeviceCommandTest;

TEST_F(DeviceRunTest, TracesWhatTheGpuDoes) {
  const std::string file = (directory_ / "trace.json").string();
  const CapturedRun run = train("a", {"--device", "cuda:0", "--replicas", "1", "--trace", file});
  ASSERT_EQ(run.code, 0) << run.err;
  for (const char* part : {"forward", "backward", "optimizer"})
    EXPECT_NE(run.out.find(part), std::string::npos) << run.out;
  EXPECT_FALSE(Json::parse(read_file(file))["traceEvents"].empty());
}

TEST_F(DeviceRunTest, BenchmarksMeasureOnADevice) {
  for (const char* device : {"cpu", "cuda:0"}) {
    const CapturedRun train = captured_run({"bench", "train", "--model", "mlp", "--batch-size", "8", "--seconds",
                                            "0.01", "--replicas", "1", "--device", device, "--json"});
    ASSERT_EQ(train.code, 0) << train.err;
    EXPECT_EQ(Json::parse(train.out)["device"], device);
    EXPECT_EQ(Json::parse(train.out)["recorded"], device == std::string("cpu") ? 0 : 1);
    EXPECT_GT(Json::parse(train.out)["images_per_second"], 0);
    const CapturedRun infer = captured_run(
        {"bench", "infer", "--model", "mlp", "--seconds", "0.01", "--threads", "2", "--device", device, "--json"});
    ASSERT_EQ(infer.code, 0) << infer.err;
    EXPECT_EQ(Json::parse(infer.out)["device"], device);
    EXPECT_GT(Json::parse(infer.out)["images_per_second"], 0);
  }
}

TEST_F(DeviceRunTest, TrainsInBfloat16) {
  const std::vector<std::string> bf16 = {"--device", "cuda:0", "--replicas", "1", "--precision", "bf16"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), bf16.begin(), bf16.end());
    return more;
  };
  train_well("whole", with({}));
  EXPECT_NE(read_file(folder("whole") / "config.toml").find("precision = \"bf16\""), std::string::npos);
  train_well("parts", with({"--max-steps", "13"}));
  const CapturedRun refused = train("parts", {"--device", "cuda:0", "--replicas", "1", "--resume"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("has --precision 'bf16', not 'float32'"), std::string::npos) << refused.err;
  train_well("parts", with({"--resume"}));
  EXPECT_EQ(summary("parts")["test_loss"], summary("whole")["test_loss"]);
}

TEST_F(DeviceRunTest, PredictsTheSameOnAGpu) {
  train_well("a", {"--device", "cpu"});
  const auto predict = [&](const std::string& device) {
    const CapturedRun run =
        captured_run({"predict", (folder("a") / "best.safetensors").string(), "--test-samples", "0,1,2,3", "--dataset",
                      "small", "--data-dir", (directory_ / "store").string(), "--device", device, "--json"});
    EXPECT_EQ(run.code, 0) << run.err;
    return Json::parse(run.out)["predictions"];
  };
  const Json cpu = predict("cpu");
  const Json gpu = predict("cuda:0");
  ASSERT_EQ(gpu.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(gpu[i]["label"], cpu[i]["label"]);
    EXPECT_NEAR(gpu[i]["probability"], cpu[i]["probability"], 1e-4);
  }
}

TEST_F(DeviceRunTest, AutoTakesAllGpus) {
  train_well("a", {"--replicas", "auto"});
  EXPECT_EQ(summary("a")["replicas"], gpu_count());
  const std::string log = read_file(folder("a") / "log.txt");
  EXPECT_NE(log.find("on cuda:0"), std::string::npos) << log;
  EXPECT_NE(read_file(folder("a") / "config.toml").find("device"), std::string::npos);
}

}  // namespace
}  // namespace lockring::app
