// Steps that a GPU is asked for as a whole and ahead, beside the same ones part by part.
#include "apps/train/gpu_steps.h"

#include "apps/train/trainer.h"
#include "core/devices.h"
#include "core/notes.h"
#include "models/models.h"
#include "tests/apps/small_training.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <limits>
#include <optional>

namespace lockring::app {
namespace {

constexpr models::ImageSpec kImages{kSmallImage, kSmallImage, 1, 10};
constexpr Device kGpu{DeviceKind::cuda, 0};
// The last of an epoch is shorter, and one is shorter than there are shards.
constexpr std::int64_t kSizes[] = {64, 64, 64, 64, 40, 64, 64, 3, 64, 64};

class GpuStepsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
  }

  static TrainerOptions options_for(const char* model) {
    const models::Architecture& architecture = models::find_architecture(model);
    TrainerOptions options;
    options.build = [&architecture] { return architecture.build(kImages); };
    options.devices = {kGpu};
    options.shards = 4;
    options.gpu_micro_batch = 8;
    options.seed = 7;
    options.optimizer = {.name = "sgd", .momentum = 0.9, .weight_decay = 0.01, .ema_decay = 0.9};
    return options;
  }

  std::span<const std::uint32_t> batch(std::int64_t number) const {
    return std::span(order_).subspan(number % 4 * 64, kSizes[number]);
  }
  void start(Trainer& trainer, std::int64_t number) const {
    trainer.start(batch(number), 2, number, 0.02 / static_cast<double>(number + 1));
  }

  static void expect_same(const StepResult& a, const StepResult& b) {
    EXPECT_EQ(a.loss_sum, b.loss_sum);
    EXPECT_EQ(a.count, b.count);
    EXPECT_EQ(a.correct, b.correct);
    EXPECT_EQ(a.gradient_norm, b.gradient_norm);
  }
  // Takes the same steps part by part and waiting in each, which tracing does.
  void expect_those_of_separate_launches(const TrainerOptions& options) const {
    Trainer parts(options, split_, transform_);
    Trace trace(1, {kGpu});
    parts.set_trace(&trace);
    EXPECT_FALSE(parts.runs_ahead());
    Trainer whole(options, split_, transform_);
    ASSERT_TRUE(whole.runs_ahead());
    start(whole, 0);
    for (std::int64_t number = 0; number < std::ssize(kSizes); ++number) {
      if (number + 1 < std::ssize(kSizes)) start(whole, number + 1);
      start(parts, number);
      expect_same(whole.finish(), parts.finish());
    }
    expect_same_bits(whole.model().parameters().buffer().to(Device{}),
                     parts.model().parameters().buffer().to(Device{}));
    for (std::size_t i = 0; i < whole.optimizer().state().size(); ++i)
      expect_same_bits(whole.optimizer().state()[i].arena.buffer().to(Device{}),
                       parts.optimizer().state()[i].arena.buffer().to(Device{}));
  }

  const data::Split split_ = learnable_split(320, 3);
  data::Transform transform_ = data::Transform::parse("normalize:0.4:0.3,crop:2,flip");
  const std::vector<std::uint32_t> order_ = data::epoch_order(data::all_samples(320), 7, 0);
};

TEST_P(GpuStepsTest, AreThoseOfSeparateLaunches) { expect_those_of_separate_launches(options_for(GetParam())); }

INSTANTIATE_TEST_SUITE_P(, GpuStepsTest, testing::Values("mlp", "cnn", "cnn_bn", "cnn_dropout"),
                         [](const auto& info) { return std::string(info.param); });

using GpuStepsCases = GpuStepsTest;

TEST_F(GpuStepsCases, ClipAsTheCpuDoes) {
  TrainerOptions options = options_for("mlp");
  options.clip_norm = 0.5;
  options.optimizer = {.name = "adamw", .weight_decay = 0.01};
  expect_those_of_separate_launches(options);
}

TEST_F(GpuStepsCases, TakeImagesThatAreSent) {
  transform_ = data::Transform::parse("normalize:0.4:0.3,mixup:0.4");
  expect_those_of_separate_launches(options_for("mlp"));
}

TEST_F(GpuStepsCases, AreTheSameInBfloat16) {
  TrainerOptions options = options_for("cnn_bn");
  options.precision = DType::bf16;
  expect_those_of_separate_launches(options);
  take_notes();  // cuDNN need not know bfloat16 of one channel
}

// What was asked for before the CPU knew does not move them either.
TEST_F(GpuStepsCases, MoveNothingOnceTheyDiverge) {
  for (const char* bad : {"dense1.bias", "dense2.weight"}) {
    Trainer trainer(options_for("cnn"), split_, transform_);
    for (std::int64_t number = 0; number < 4; ++number) {
      start(trainer, number);
      trainer.finish();
    }
    const nn::Segment& segment = *trainer.model().layout().find(bad);
    const Tensor healthy = trainer.model().parameters().view(segment).clone();
    trainer.model().parameters().view(segment).copy_from(
        Tensor::full(segment.shape, std::numeric_limits<float>::quiet_NaN(), kGpu));
    const Tensor before = trainer.model().parameters().buffer().to(Device{});
    start(trainer, 5);
    start(trainer, 6);
    expect_error(ErrorCode::diverged, "step 6: first in layer 'dense", [&] { trainer.finish(); });
    expect_same_bits(trainer.model().parameters().buffer().to(Device{}), before);
    trainer.model().parameters().view(segment).copy_from(healthy);
    start(trainer, 8);
    EXPECT_TRUE(std::isfinite(trainer.finish().loss_sum));
  }
}

// A gradient alone can be too large. The next step has computed another by then.
TEST_F(GpuStepsCases, NameTheGradientThatIsNotFinite) {
  Trainer trainer(options_for("mlp"), split_, transform_);
  start(trainer, 0);
  trainer.finish();
  const auto fill = [&](const char* name, const std::function<float(std::int64_t)>& value) {
    const nn::Segment& segment = *trainer.model().layout().find(name);
    Tensor values = Tensor::empty(segment.shape);
    for (std::int64_t i = 0; i < values.elements(); ++i) values.data()[i] = value(i);
    trainer.model().parameters().view(segment).copy_from(values);
  };
  fill("dense1.weight", [](std::int64_t) { return 0.0F; });
  fill("dense1.bias", [](std::int64_t) { return 1e-37F; });
  fill("dense2.weight", [](std::int64_t i) { return i / 512 % 2 == 0 ? 3e38F : -3e38F; });
  start(trainer, 1);
  start(trainer, 2);
  expect_error(ErrorCode::diverged, "the gradient of 'dense1.weight' is not finite at step 2",
               [&] { trainer.finish(); });
}

}  // namespace
}  // namespace lockring::app
