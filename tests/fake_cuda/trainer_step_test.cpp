// What the fake shows of the trainer's steps on one GPU: it is waited for once a step, and not asked for memory.
#include "apps/train/trainer.h"
#include "models/models.h"
#include "tests/apps/small_training.h"
#include "tests/fake_cuda/machine.h"

#include <gtest/gtest.h>

namespace lockring::app {
namespace {

constexpr models::ImageSpec kImages{kSmallImage, kSmallImage, 1, 10};

class FakeTrainerStep : public testing::TestWithParam<const char*> {};

TEST_P(FakeTrainerStep, WaitsOnceAndAllocatesNothing) {
  const data::Split split = learnable_split(192, 3);
  const data::Transform transform = data::Transform::parse("normalize:0.4:0.3");
  const std::vector<std::uint32_t> order = data::all_samples(192);
  TrainerOptions options;
  options.build = [] { return models::find_architecture(GetParam()).build(kImages); };
  options.devices = {{DeviceKind::cuda, 0}};
  options.shards = 2;
  options.gpu_micro_batch = 32;  // two of a shard
  options.optimizer = {.name = "adamw", .ema_decay = 0.9};
  options.clip_norm = 1;
  Trainer trainer(options, split, transform);
  std::int64_t number = 0;
  const auto step = [&] {
    trainer.step(std::span(order).subspan(number % 2 * 64, 128), 0, number, 1e-3);
    ++number;
  };
  for (int i = 0; i < 4; ++i) step();
  const fake_cuda::Counters before = fake_cuda::counters();
  for (int i = 0; i < 5; ++i) step();
  const fake_cuda::Counters after = fake_cuda::counters();
  EXPECT_EQ(after.waits - before.waits, 5);
  EXPECT_EQ(after.allocations, before.allocations);
  // Beside the recorded step, what it reads is sent, and what it found comes back, with a mark to wait for.
  EXPECT_EQ(after.graph_launches - before.graph_launches, 5);
  constexpr int kParts = 4;
  EXPECT_EQ(after.launches - before.launches, 5 * (1 + kParts + 1 + 1));
}

INSTANTIATE_TEST_SUITE_P(, FakeTrainerStep, testing::Values("mlp", "cnn", "cnn_bn"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lockring::app
