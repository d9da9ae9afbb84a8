// What a training step of each model may cost: no memory, once it is warm, and nothing is left behind.
#include "core/allocator.h"
#include "models/models.h"
#include "nn/model.h"
#include "ops/cross_entropy.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <string>

namespace lockring::models {
namespace {

class TrainingStepTest : public testing::TestWithParam<Architecture> {
 protected:
  TrainingStepTest() {
    const std::span<std::int32_t> labels = labels_.values<std::int32_t>();
    for (int i = 0; i < std::ssize(labels); ++i) labels[i] = i % 10;
    model_.refresh(nn::Purpose::training);
  }

  // Gradients from scratch, of two micro-batches. Returns the loss.
  float step(std::int64_t number) {
    float loss_sum = 0;
    model_.bind_gradients(gradients_);
    for (std::int64_t begin = 0; begin < 64; begin += 32) {
      const nn::Context context{.training = true, .seed = 1, .step = number, .first_sample = begin};
      const Tensor logits = model_.forward(images_.slice(begin, begin + 32), context);
      const Tensor loss = ops::cross_entropy(logits, labels_.slice(begin, begin + 32), 0.1F);
      loss_sum += loss.item();
      backward(loss);
    }
    model_.complete_gradients();
    model_.refresh(nn::Purpose::training);
    return loss_sum;
  }

  nn::Model model_{GetParam().build({}), 1};
  nn::Arena gradients_{model_.parameters().shared_layout()};
  const Tensor images_ = random_tensor({64, 28, 28, 1}, 2, 0, 1);
  Tensor labels_ = Tensor::empty({64}, DType::i32);
};

INSTANTIATE_TEST_SUITE_P(, TrainingStepTest, testing::ValuesIn(architectures()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(TrainingStepTest, AllocatesNothingOnceWarm) {
  for (int i = 0; i < 2; ++i) step(i);
  const std::int64_t system_allocations = allocator_stats().system_allocations;
  const AllocationCounter counter;
  step(2);
  EXPECT_EQ(counter.count(), 0);
#ifndef __SANITIZE_ADDRESS__  // where the allocator keeps nothing
  EXPECT_EQ(allocator_stats().system_allocations, system_allocations);
#endif
}

TEST_P(TrainingStepTest, LeavesTheTapeEmpty) {
  step(0);
  EXPECT_EQ(live_nodes(), 0);
  const NoGrad no_grad;
  model_.forward(images_);
  EXPECT_EQ(live_nodes(), 0);
}

TEST_P(TrainingStepTest, GivesTheSameBitsAgain) {
  const float loss = step(5);
  const Tensor first = gradients_.buffer().clone();
  step(6);  // gradients of another step leave no trace
  EXPECT_EQ(step(5), loss);
  expect_same_bits(gradients_.buffer(), first);
}

TEST_P(TrainingStepTest, ReachesEveryParameter) {
  for (float& value : gradients_.buffer().values()) value = NAN;
  step(0);
  for (const nn::Segment& segment : model_.layout().segments()) {
    double squares = 0;
    for (const float value : gradients_.view(segment).values()) squares += double{value} * value;
    EXPECT_TRUE(std::isfinite(squares) && squares > 0) << segment.name << " " << squares;
  }
}

}  // namespace
}  // namespace lockring::models
