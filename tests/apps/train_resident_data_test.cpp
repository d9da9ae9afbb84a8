#include "apps/train/resident_data.h"

#include "core/devices.h"
#include "core/rng.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

namespace lockring::app {
namespace {

constexpr Device kGpu{DeviceKind::cuda, 0};

data::Split split_of(const Shape& shape) {
  Tensor images = Tensor::empty(shape, DType::u8);
  Tensor labels = Tensor::empty({shape[0]}, DType::u8);
  Rng rng(1, RngStream::test);
  for (std::uint8_t& pixel : images.values<std::uint8_t>()) pixel = static_cast<std::uint8_t>(rng.below(256));
  for (std::uint8_t& label : labels.values<std::uint8_t>()) label = static_cast<std::uint8_t>(rng.below(10));
  return {data::in_memory(images), labels};
}

class ResidentDataTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
  }
  const std::vector<std::uint32_t> samples_ = {4, 0, 39, 4, 17, 38, 2, 11, 25, 30, 8, 1, 7, 3, 22};
};

TEST_P(ResidentDataTest, MakesTheBatchesOfTheTransform) {
  for (const Shape& shape : {Shape{40, 9, 7, 1}, Shape{40, 6, 8, 3}}) {
    const data::Split split = split_of(shape);
    const data::ChannelStatistics statistics{std::vector<float>(static_cast<std::size_t>(shape[3]), 0.4F),
                                             std::vector<float>(static_cast<std::size_t>(shape[3]), 0.3F)};
    const data::Transform transform = data::Transform::parse(GetParam(), statistics);
    ASSERT_TRUE(ResidentData::suits(split, transform, kGpu));
    const ResidentData resident(split, transform, kGpu);
    GpuLane lane(kGpu);
    const auto count = std::ssize(samples_);
    for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
      data::Batch expected = data::Batch::empty({shape[1], shape[2], shape[3]}, count, false);
      transform.fill(split, samples_, {0, count}, 5, epoch, expected);
      lane.begin_step();
      const data::Batch batch = resident.prepare(resident.send_draws(lane, samples_, 5, epoch));
      lane.wait();
      expect_near(batch.images.to(Device{}), expected.images, 1e-6);
      EXPECT_TRUE(
          std::ranges::equal(batch.labels.to(Device{}).values<std::int32_t>(), expected.labels.values<std::int32_t>()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, ResidentDataTest,
                         testing::Values("", "normalize", "normalize,crop:3", "normalize,flip", "flip:alternate,crop:1",
                                         "normalize,crop:2,flip,erase:0.9:0.1:0.5,cutout:4"),
                         [](const auto& info) { return std::to_string(info.index); });

using ResidentDataRefusals = ResidentDataTest;

TEST_F(ResidentDataRefusals, LeavesToTheCpuWhatItCannotDo) {
  const data::Split split = split_of({10, 5, 5, 1});
  EXPECT_TRUE(ResidentData::suits(split, data::Transform::parse("crop:1"), kGpu));
  EXPECT_FALSE(ResidentData::suits(split, data::Transform::parse("rotate:10"), kGpu));
  EXPECT_FALSE(ResidentData::suits(split, data::Transform::parse("mixup:0.2"), kGpu));
}

TEST_F(ResidentDataRefusals, RefusesASampleBeyondTheSplit) {
  const data::Split split = split_of({10, 5, 5, 1});
  const data::Transform transform;
  const ResidentData resident(split, transform, kGpu);
  GpuLane lane(kGpu);
  const std::vector<std::uint32_t> beyond = {3, 10};
  expect_error(ErrorCode::usage, "sample 10 of a split of 10", [&] { resident.send_draws(lane, beyond, 1, 0); });
}

}  // namespace
}  // namespace lockring::app
