// The trainer with replicas on GPUs, beside one on the CPU.
#include "apps/evaluation.h"
#include "apps/train/trainer.h"
#include "core/devices.h"
#include "core/notes.h"
#include "models/models.h"
#include "nn/linear.h"
#include "nn/sequential.h"
#include "tests/apps/small_training.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lockring::app {
namespace {

constexpr models::ImageSpec kImages{kSmallImage, kSmallImage, 1, 10};
constexpr Device kGpu{DeviceKind::cuda, 0};

class TrainerGpuTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
  }

  static TrainerOptions options_for(const char* model, std::vector<Device> devices, int replicas) {
    const models::Architecture& architecture = models::find_architecture(model);
    TrainerOptions options;
    options.build = [&architecture] { return architecture.build(kImages); };
    options.replicas = replicas;
    options.devices = std::move(devices);
    options.shards = 4;
    options.micro_batch = architecture.micro_batch;
    options.seed = 7;
    options.optimizer = {.name = "sgd", .momentum = 0.9, .weight_decay = 0.01, .ema_decay = 0.9};
    return options;
  }

  static std::vector<Device> all_gpus() {
    std::vector<Device> devices;
    for (int i = 0; i < gpu_count(); ++i) devices.push_back({DeviceKind::cuda, i});
    return devices;
  }

  StepResult step(Trainer& trainer, std::int64_t number, std::int64_t count = 64) const {
    return trainer.step(std::span(order_).subspan(number * 64 % 256, count), 2, number, 0.02);
  }

  // Takes the same steps with both.
  void expect_alike(Trainer& one, Trainer& other, double tolerance) const {
    std::int64_t number = 0;
    for (const std::int64_t count : {64, 61, 3, 64}) {
      const StepResult a = step(one, number, count);
      const StepResult b = step(other, number, count);
      EXPECT_EQ(a.count, b.count);
      EXPECT_NEAR(a.loss_sum, b.loss_sum, tolerance * static_cast<double>(count));
      EXPECT_NEAR(a.gradient_norm, b.gradient_norm, tolerance * a.gradient_norm);
      ++number;
    }
    expect_near(one.model().parameters().buffer().to(Device{}), other.model().parameters().buffer().to(Device{}),
                tolerance);
    for (std::size_t i = 0; i < one.optimizer().state().size(); ++i)
      expect_near(one.optimizer().state()[i].arena.buffer().to(Device{}),
                  other.optimizer().state()[i].arena.buffer().to(Device{}), tolerance);
  }

  const data::Split split_ = learnable_split(320, 3);
  data::Transform transform_ = data::Transform::parse("normalize:0.4:0.3,crop:2,flip");
  const std::vector<std::uint32_t> order_ = data::epoch_order(data::all_samples(320), 7, 0);
};

TEST_P(TrainerGpuTest, StepsAreThoseOfTheCpu) {
  Trainer cpu(options_for(GetParam(), {Device{}}, 1), split_, transform_);
  Trainer gpu(options_for(GetParam(), {kGpu}, 1), split_, transform_);
  expect_alike(cpu, gpu, 1e-4);
}

// A GPU adds up its shards itself; several leave that to the CPU.
TEST_P(TrainerGpuTest, SeveralReplicasAreAsGoodAsOne) {
  Trainer one(options_for(GetParam(), {kGpu}, 1), split_, transform_);
  Trainer two(options_for(GetParam(), all_gpus(), 2), split_, transform_);
  expect_alike(one, two, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(, TrainerGpuTest, testing::Values("mlp", "cnn", "cnn_bn", "cnn_dropout"),
                         [](const auto& info) { return std::string(info.param); });

using TrainerOnGpuTest = TrainerGpuTest;

TEST_F(TrainerOnGpuTest, LongGradientsAreClipped) {
  TrainerOptions on_cpu = options_for("mlp", {Device{}}, 1);
  TrainerOptions on_gpu = options_for("mlp", all_gpus(), 2);
  on_cpu.clip_norm = on_gpu.clip_norm = 0.1;
  on_cpu.optimizer = on_gpu.optimizer = {.name = "adamw", .weight_decay = 0.01};
  Trainer cpu(on_cpu, split_, transform_);
  Trainer gpu(on_gpu, split_, transform_);
  expect_alike(cpu, gpu, 1e-3);
}

TEST_F(TrainerOnGpuTest, MixedImagesAndMicroBatchesToo) {
  transform_ = data::Transform::parse("normalize:0.4:0.3,mixup:0.4");
  TrainerOptions on_cpu = options_for("mlp", {Device{}}, 1);
  TrainerOptions on_gpu = options_for("mlp", {kGpu}, 1);
  on_cpu.micro_batch = on_gpu.gpu_micro_batch = 5;
  on_cpu.label_smoothing = on_gpu.label_smoothing = 0.1;
  Trainer cpu(on_cpu, split_, transform_);
  Trainer gpu(on_gpu, split_, transform_);
  expect_alike(cpu, gpu, 1e-4);
}

TEST_F(TrainerOnGpuTest, ImagesMayBeSentInEveryStep) {
  TrainerOptions sent = options_for("cnn", {kGpu}, 1);
  sent.resident_data = false;
  Trainer one(options_for("cnn", {kGpu}, 1), split_, transform_);
  Trainer other(sent, split_, transform_);
  expect_alike(one, other, 1e-5);
}

TEST_F(TrainerOnGpuTest, Bfloat16IsCloseToFloat32) {
  for (const int replicas : {1, 2}) {
    TrainerOptions bf16 = options_for("cnn_bn", all_gpus(), replicas);
    bf16.precision = DType::bf16;
    Trainer one(options_for("cnn_bn", all_gpus(), replicas), split_, transform_);
    Trainer other(bf16, split_, transform_);
    double differences = 0;
    for (std::int64_t number = 0; number < 4; ++number) {
      const StepResult a = step(one, number);
      const StepResult b = step(other, number);
      EXPECT_NEAR(b.loss_sum, a.loss_sum, 0.02 * a.loss_sum);
      EXPECT_NEAR(b.gradient_norm, a.gradient_norm, 0.1 * a.gradient_norm);
      differences += std::abs(b.loss_sum - a.loss_sum);
    }
    EXPECT_GT(differences, 0);
  }
  take_notes();  // cuDNN need not know bfloat16 of one channel
}

TEST_F(TrainerOnGpuTest, EveryReplicaTakesOverWhatIsLoaded) {
  Trainer trainer(options_for("mlp", all_gpus(), 2), split_, transform_);
  Trainer other(options_for("mlp", {kGpu}, 1), split_, transform_);
  for (int number = 0; number < 3; ++number) step(other, number);
  trainer.model().parameters().buffer().copy_from(other.model().parameters().buffer());
  for (std::size_t i = 0; i < other.optimizer().state().size(); ++i) {
    Tensor state = trainer.optimizer().state()[i].arena.buffer();
    state.copy_from(other.optimizer().state()[i].arena.buffer());
  }
  trainer.refresh();
  expect_alike(other, trainer, 1e-5);
}

TEST_F(TrainerOnGpuTest, EvaluatesAsTheCpuDoes) {
  Trainer trainer(options_for("cnn", all_gpus(), 2), split_, transform_);
  for (int number = 0; number < 4; ++number) step(trainer, number);
  const std::vector<std::uint32_t> samples = data::all_samples(320);
  const Evaluation on_gpu = evaluate(trainer.workers(), trainer.averaged(), split_, samples, transform_);
  const nn::Model copy(trainer.options().build(), trainer.averaged(), Device{});
  dist::ReplicaTeam team(1);
  const Evaluation on_cpu = evaluate(team, copy, split_, samples, transform_);
  EXPECT_EQ(on_gpu.count, 320);
  EXPECT_NEAR(on_gpu.loss, on_cpu.loss, 1e-4);
  EXPECT_NEAR(on_gpu.accuracy(), on_cpu.accuracy(), 0.01);
}

// Each takes some of the three chunks, with an average of its own.
TEST_F(TrainerOnGpuTest, AllGpusEvaluateAsOneDoes) {
  const data::Split split = learnable_split(3000, 3);
  const std::vector<std::uint32_t> samples = data::all_samples(3000);
  TrainerOptions options = options_for("mlp", all_gpus(), gpu_count());
  options.shards = 0;
  Trainer trainer(options, split, transform_);
  for (int number = 0; number < 4; ++number) step(trainer, number);
  const ModelCopies copies = trainer.averaged_copies();
  ASSERT_EQ(std::ssize(copies), gpu_count());
  for (int gpu = 0; gpu < gpu_count(); ++gpu) EXPECT_EQ(copies[gpu]->device().index, gpu);
  const Evaluation one = evaluate(trainer.workers(), trainer.averaged(), split, samples, transform_);
  const Evaluation all = evaluate(trainer.workers(), copies, split, samples, transform_);
  EXPECT_EQ(all.predictions, one.predictions);
  EXPECT_EQ(all.confusion, one.confusion);
  EXPECT_EQ(all.correct, one.correct);
  EXPECT_NEAR(all.loss, one.loss, 1e-6);
  const DeviceCopies made(trainer.averaged(), all_gpus(), options.build);
  EXPECT_EQ(evaluate(trainer.workers(), made.models(), split, samples, transform_).predictions, one.predictions);
}

TEST_F(TrainerOnGpuTest, SaysWhereItDivergedAndChangesNothing) {
  Trainer trainer(options_for("cnn", {kGpu}, 1), split_, transform_);
  step(trainer, 0);
  const nn::Segment& second = *trainer.model().layout().find("dense1.bias");
  trainer.model().parameters().view(second).copy_from(
      Tensor::full(second.shape, std::numeric_limits<float>::quiet_NaN(), kGpu));
  const Tensor before = trainer.model().parameters().buffer().to(Device{});
  expect_error(ErrorCode::diverged, "step 2: first in layer 'dense1'", [&] { step(trainer, 1); });
  expect_same_bits(trainer.model().parameters().buffer().to(Device{}), before);
}

TEST_F(TrainerOnGpuTest, RefusesWhatCannotBe) {
  expect_error(ErrorCode::usage, "on its CPU or all on GPUs", [&] {
    Trainer(options_for("mlp", {Device{}, kGpu}, 2), split_, transform_);
  });
  TrainerOptions bf16 = options_for("mlp", {Device{}}, 1);
  bf16.precision = DType::bf16;
  expect_error(ErrorCode::usage, "replicas on cpu do not compute with BF16",
               [&] { Trainer(bf16, split_, transform_); });
  TrainerOptions served = options_for("mlp", {kGpu}, 1);
  served.served.servers = 1;
  expect_error(ErrorCode::usage, "with parameter servers", [&] { Trainer(served, split_, transform_); });
}

}  // namespace
}  // namespace lockring::app
