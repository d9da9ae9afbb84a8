// --allreduce nccl: where the build or the machine lacks it, and on the GPUs that there are.
#include "core/devices.h"
#include "distributed/device_communicator.h"
#include "tests/apps/captured_run.h"
#include "tests/apps/small_training.h"

#include <nlohmann/json.hpp>

namespace lockring::app {
namespace {

using Json = nlohmann::json;

TEST(NcclCommands, BenchMeasuresGpusWhereThereIsNccl) {
  std::vector<std::string> words = {"bench", "allreduce", "--allreduce", "nccl", "--bytes", "4K..16K", "--json"};
  const CapturedRun many = captured_run({"bench", "allreduce", "--allreduce", "nccl", "--replicas", "100"});
  if (dist::nccl_version().empty()) {
    EXPECT_EQ(many.code, 2);
    EXPECT_NE(many.err.find("this program was built without NCCL"), std::string::npos) << many.err;
    return;
  }
  EXPECT_EQ(many.code, 4);
  EXPECT_NE(many.err.find("needs a GPU for each replica: 100 on"), std::string::npos) << many.err;
  if (gpu_count() == 0) return;
  words.insert(words.end(), {"--replicas", std::to_string(gpu_count()), "--seconds", "0.01"});
  const CapturedRun run = captured_run(words);
  ASSERT_EQ(run.code, 0) << run.err;
  const Json rows = Json::parse(run.out);
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[1]["algorithm"], "nccl");
  EXPECT_EQ(rows[1]["replicas"], gpu_count());
  EXPECT_GT(rows[1]["time_us"], 0);
}

TEST_F(TrainCommandTest, TrainsOnGpusThatAddUpByNccl) {
  if (dist::nccl_version().empty() || gpu_count() < 2) GTEST_SKIP() << "fewer than two GPUs, or no NCCL";
  train_well("cpu", {"--device", "cpu", "--replicas", "2", "--epochs", "2"});
  train_well("gpus", {"--device", "cuda", "--replicas", "2", "--epochs", "2", "--allreduce", "nccl"});
  EXPECT_EQ(summary("gpus")["replicas"], 2);
  EXPECT_NEAR(metrics("gpus").back()["train_loss"], metrics("cpu").back()["train_loss"], 1e-3);
  expect_refused({"--allreduce", "nccl", "--device", "cuda", "--shards", "4"}, 2, "--allreduce nccl does not");
  expect_refused({"--allreduce", "nccl", "--device", "cuda", "--wire", "bf16"}, 2, "is not for --allreduce nccl");
}

}  // namespace
}  // namespace lockring::app
