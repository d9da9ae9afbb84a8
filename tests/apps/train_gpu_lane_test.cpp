#include "apps/train/gpu_lane.h"

#include "core/devices.h"
#include "ops/argmax.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

namespace lockring::app {
namespace {

constexpr Device kGpu{DeviceKind::cuda, 0};

class GpuLaneTest : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "no GPU";
  }
};

data::Batch batch_of(std::int64_t count, bool mixed, std::uint64_t seed) {
  data::Batch batch = data::Batch::empty({3, 5, 2}, count, mixed);
  batch.images = random_tensor(batch.images.shape(), seed);
  for (std::int64_t i = 0; i < count; ++i) batch.labels.data<std::int32_t>()[i] = static_cast<std::int32_t>(i + seed);
  if (!mixed) return batch;
  batch.partner_labels = batch.labels.clone();
  batch.weights = random_tensor({count}, seed + 1);
  return batch;
}

// The memory of one batch is not another's, though nothing has run yet.
TEST_F(GpuLaneTest, SendsBatchesOfAnySize) {
  GpuLane lane(kGpu);
  for (int step = 0; step < 3; ++step) {
    lane.begin_step();
    std::vector<data::Batch> sent;
    std::vector<data::Batch> there;
    for (const std::int64_t count : {3, 1, 700, 0, 20}) {
      sent.push_back(batch_of(count, count == 20, static_cast<std::uint64_t>(count + step + 1)));
      there.push_back(lane.send(sent.back()));
      EXPECT_EQ(there.back().images.device(), kGpu);
    }
    lane.wait();
    for (std::size_t i = 0; i < sent.size(); ++i) {
      expect_same_bits(there[i].images.to(Device{}), sent[i].images);
      const Tensor labels = there[i].labels.to(Device{});
      EXPECT_TRUE(std::ranges::equal(labels.values<std::int32_t>(), sent[i].labels.values<std::int32_t>()));
      EXPECT_EQ(there[i].weights.defined(), sent[i].weights.defined());
    }
    expect_same_bits(there.back().weights.to(Device{}), sent.back().weights);
  }
}

TEST_F(GpuLaneTest, BringsBackWhatAStepFound) {
  GpuLane lane(kGpu);
  for (int step = 0; step < 2; ++step) {
    lane.begin_step();
    for (int i = 0; i < 5; ++i) {
      const Tensor scores = Tensor::from({0, 1, 1, 0}, {2, 2}, kGpu);
      Tensor labels = Tensor::zeros({2}, DType::i32, kGpu);
      lane.bring_back(i, {i, i + 2}, Tensor::full({1}, static_cast<float>(i), kGpu),
                      ops::correct_count(scores, labels));
    }
    lane.wait();
    ASSERT_EQ(lane.readings().size(), 5u);
    for (int i = 0; i < 5; ++i) {
      const GpuLane::Reading& reading = lane.readings()[static_cast<std::size_t>(i)];
      EXPECT_EQ(reading.shard, i);
      EXPECT_EQ(reading.range.end, i + 2);
      EXPECT_EQ(*reading.loss, i);
      EXPECT_EQ(*reading.correct, 1);
    }
  }
}

}  // namespace
}  // namespace lockring::app
