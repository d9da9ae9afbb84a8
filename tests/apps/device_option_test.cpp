#include "apps/device_option.h"

#include "core/devices.h"
#include "tests/apps/captured_run.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

namespace lockring::app {
namespace {

std::vector<std::string> names(const DeviceChoice& choice) {
  std::vector<std::string> names;
  for (const Device device : choice.devices) names.push_back(to_string(device));
  return names;
}

using Names = std::vector<std::string>;

TEST(DeviceOption, TheCpuIsAlwaysThere) {
  EXPECT_EQ(names(choose_devices("cpu")), Names{"cpu"});
  EXPECT_EQ(names(choose_devices("cpu", 1, 4)), Names{"cpu"});
  EXPECT_EQ(choose_devices("cpu").note, "");
}

TEST(DeviceOption, RefusesWhatIsNoDevice) {
  for (const char* text : {"", "gpu", "cuda:", "cuda:-1", "cuda:1x", "cuda0", "CPU"})
    expect_error(ErrorCode::usage, "expected auto, cpu, cuda or cuda:N", [&] { choose_devices(text); });
  for (const char* command : {"train", "eval", "predict", "serve"}) {
    const CapturedRun run = captured_run({command, "--device", "gpu"});
    EXPECT_EQ(run.code, 2) << command;
    EXPECT_NE(run.err.find("--device: expected auto, cpu, cuda or cuda:N, found 'gpu'"), std::string::npos) << run.err;
  }
}

TEST(DeviceOption, WithoutGpusAutoIsTheCpu) {
  if (gpu_count() > 0) GTEST_SKIP() << "there are GPUs";
  EXPECT_EQ(names(choose_devices("auto")), Names{"cpu"});
  expect_error(ErrorCode::device, "--device cuda: there is no GPU", [] { choose_devices("cuda"); });
  expect_error(ErrorCode::device, "--device cuda:0: there is no GPU", [] { choose_devices("cuda:0"); });
}

TEST(DeviceOption, OnlyAProgramThatCouldUseGpusSaysThatThereAreNone) {
  if (gpu_count() > 0) GTEST_SKIP() << "there are GPUs";
  const bool built_for_gpus = !describe_gpus().runtime.empty();
  EXPECT_EQ(choose_devices("auto").note.empty(), !built_for_gpus);
}

TEST(DeviceOption, OneProcessHasAllGpusAndARankItsOwn) {
  const int count = gpu_count();
  if (count == 0) GTEST_SKIP() << "no GPU";
  Names all;
  for (int i = 0; i < count; ++i) all.push_back("cuda:" + std::to_string(i));
  EXPECT_EQ(names(choose_devices("auto")), all);
  EXPECT_EQ(names(choose_devices("cuda")), all);
  for (int place = 0; place < 2 * count; ++place)
    EXPECT_EQ(names(choose_devices("cuda", place, 2 * count)), Names{all[place % count]});
  EXPECT_EQ(names(choose_devices("cuda:0", 1, 2)), Names{"cuda:0"});
  expect_error(ErrorCode::device, "--device cuda:64", [] { choose_devices("cuda:64"); });
}

}  // namespace
}  // namespace lockring::app
