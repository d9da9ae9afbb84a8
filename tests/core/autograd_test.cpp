#include "core/autograd.h"

#include "tests/core/toy_ops.h"
#include "tests/support/errors.h"
#include "tests/support/gradient_check.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace lockring {
namespace {

TEST(Autograd, FollowsAChain) {
  Leaf a(Tensor::from({2, 3}, {2}));
  Leaf b(Tensor::from({5, 7}, {2}));
  const Tensor y = toy_multiply(toy_multiply(a.tensor(), b.tensor()), a.tensor());  // a^2 b
  backward(y, Tensor::from({1, 10}, {2}));
  expect_values(a.grad(), {20, 420});
  expect_values(b.grad(), {4, 90});
}

TEST(Autograd, AgreesWithFiniteDifferences) {
  check_gradients(
      [](auto x) { return toy_add(toy_multiply(toy_add(x[0], x[1]), x[0]), toy_multiply(x[1], toy_add(x[1], x[1]))); },
      {random_tensor({2, 3}), random_tensor({2, 3}, 2)});
}

TEST(Autograd, AddsUpTheUsesOfOneTensor) {
  Leaf x(Tensor::from({3}, {1}));
  backward(toy_multiply(x.tensor(), x.tensor()));
  expect_values(x.grad(), {6});
  x.clear_gradient();
  backward(toy_add(x.tensor(), x.tensor()));
  expect_values(x.grad(), {2});
  x.clear_gradient();
  const Tensor h = toy_multiply(x.tensor(), x.tensor());
  backward(toy_add(toy_multiply(h, h), h));  // x^4 + x^2
  expect_values(x.grad(), {114});
}

// toy_add hands one block of memory to both inputs; adding to one gradient must not change the other, nor the
// gradient that the caller passed.
TEST(Autograd, MemorySharedByGradientsIsNotAddedTo) {
  Leaf a(Tensor::from({2}, {1}));
  Leaf b(Tensor::from({3}, {1}));
  const Tensor early = toy_multiply(a.tensor(), a.tensor());  // its gradient arrives last
  const Tensor incoming = Tensor::from({1}, {1});
  backward(toy_add(toy_add(a.tensor(), b.tensor()), early), incoming);
  expect_values(a.grad(), {5});
  expect_values(b.grad(), {1});
  expect_values(incoming, {1});
}

TEST(Autograd, AGradientThatIsKeptDoesNotChangeLater) {
  Leaf x(Tensor::from({3}, {1}));
  backward(toy_multiply(x.tensor(), x.tensor()));
  const Tensor kept = x.grad();
  backward(toy_multiply(x.tensor(), x.tensor()));
  expect_values(kept, {6});
  expect_values(x.grad(), {12});
}

TEST(Autograd, NothingRunsWhereNoGradientArrives) {
  Leaf x(Tensor::from({3}, {1}));
  bool ran = false;
  const Tensor unused = toy_identity(x.tensor(), [&] { ran = true; });
  backward(toy_multiply(x.tensor(), x.tensor()));
  EXPECT_FALSE(ran);
  expect_values(x.grad(), {6});
}

TEST(Autograd, ALeafCanBeTheOutput) {
  Leaf x(Tensor::from({3, 4}, {2}));
  backward(x.tensor(), Tensor::from({1, 2}, {2}));
  expect_values(x.grad(), {1, 2});
}

TEST(Autograd, RejectsAWrongStart) {
  Leaf x(Tensor::from({1, 2}, {2}));
  expect_error(ErrorCode::usage, "[2]", [&] { backward(toy_add(x.tensor(), x.tensor())); });
  expect_error(ErrorCode::usage, "not on the tape", [] { backward(Tensor::full({}, 1)); });
  expect_error(ErrorCode::usage, "does not fit",
               [&] { backward(toy_add(x.tensor(), x.tensor()), Tensor::zeros({3})); });
  clear_tape();
}

TEST(Autograd, AClosureThatThrowsLeavesAnEmptyTape) {
  Leaf x(Tensor::from({3}, {1}));
  const Tensor middle = toy_identity(x.tensor(), [] { fail(ErrorCode::device, "lost"); });
  expect_error(ErrorCode::device, "lost", [&] { backward(toy_multiply(middle, middle)); });
  EXPECT_EQ(live_nodes(), 0);
  EXPECT_TRUE(grad_enabled());
  x.clear_gradient();
  backward(toy_multiply(x.tensor(), x.tensor()));
  expect_values(x.grad(), {6});
}

TEST(Autograd, ClosuresRecordNothing) {
  Leaf x(Tensor::from({3}, {1}));
  bool recorded = true;
  backward(toy_identity(x.tensor(), [&] { recorded = needs_gradient(toy_multiply(x.tensor(), x.tensor())); }));
  EXPECT_FALSE(recorded);
}

TEST(NoGrad, RecordsNothingAndNests) {
  Leaf x(Tensor::from({3}, {1}));
  EXPECT_TRUE(grad_enabled());
  {
    const NoGrad outer;
    {
      const NoGrad inner;
      EXPECT_FALSE(grad_enabled());
    }
    EXPECT_FALSE(grad_enabled());
    EXPECT_FALSE(needs_gradient(x.tensor()));
    const Tensor y = toy_multiply(x.tensor(), x.tensor());
    EXPECT_EQ(y.node(), nullptr);
    EXPECT_EQ(live_nodes(), 0);
  }
  EXPECT_TRUE(grad_enabled());
  EXPECT_TRUE(needs_gradient(x.tensor()));
}

TEST(NeedsGradient, IsTrueIfOneOfThemWantsIt) {
  const Leaf x(Tensor::from({3}, {1}));
  const Tensor plain = Tensor::zeros({1});
  EXPECT_TRUE(needs_gradient(plain, x.tensor()));
  EXPECT_FALSE(needs_gradient(plain, plain));
  EXPECT_FALSE(needs_gradient(x.tensor().detach()));
  EXPECT_FALSE(needs_gradient(x.tensor().clone(), Tensor()));
}

TEST(Leaf, HasNoGradientUntilOneArrives) {
  Leaf x(Tensor::from({3}, {1}));
  EXPECT_FALSE(x.has_gradient());
  EXPECT_FALSE(x.grad().defined());
  backward(toy_multiply(x.tensor(), x.tensor()));
  EXPECT_TRUE(x.has_gradient());
  x.clear_gradient();
  EXPECT_FALSE(x.has_gradient());
  EXPECT_FALSE(x.grad().defined());
}

TEST(Leaf, GathersInTheMemoryItIsBoundTo) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor arena = Tensor::full({4}, nan);
  Leaf x(Tensor::from({3, 4}, {2}));
  x.bind_gradient(arena.slice(1, 3));
  EXPECT_FALSE(x.has_gradient());
  backward(toy_add(x.tensor(), x.tensor()), Tensor::from({1, 2}, {2}));  // add() overwrites, then adds
  expect_values(arena.slice(1, 3), {2, 4});
  backward(toy_multiply(x.tensor(), x.tensor()), Tensor::from({1, 1}, {2}));  // slot() adds
  expect_values(arena.slice(1, 3), {8, 12});
  x.clear_gradient();
  EXPECT_FALSE(x.has_gradient());
  backward(toy_multiply(x.tensor(), x.tensor()), Tensor::from({1, 1}, {2}));  // slot() overwrites
  expect_values(arena.slice(1, 3), {6, 8});
  EXPECT_EQ(x.grad().storage(), arena.storage());
  EXPECT_TRUE(arena.data()[0] != arena.data()[0] && arena.data()[3] != arena.data()[3]) << "wrote outside its range";
}

TEST(Leaf, RejectsGradientMemoryOfAnotherShape) {
  Leaf x(Tensor::zeros({2, 3}));
  expect_error(ErrorCode::usage, "[3, 2]", [&] { x.bind_gradient(Tensor::zeros({3, 2})); });
}

TEST(Leaf, SlotWritesFirstAndAddsThen) {
  Leaf moments(Tensor::zeros({2}));
  moments.bind_gradient(Tensor::zeros({2}));
  EXPECT_FALSE(moments.slot().accumulate);
  EXPECT_TRUE(moments.slot().accumulate);
  EXPECT_EQ(moments.slot().grad.raw(), moments.grad().raw());
  moments.clear_gradient();
  EXPECT_FALSE(moments.slot().accumulate);
}

TEST(Leaf, TakesANewValue) {
  Leaf x;
  x.set_value(Tensor::from({2}, {1}));
  x.set_value(Tensor::from({3, 4}, {2}));
  backward(toy_multiply(x.tensor(), x.tensor()), Tensor::from({1, 1}, {2}));
  expect_values(x.grad(), {6, 8});
}

class GradientHookTest : public testing::Test {
 protected:
  GradientHookTest() {
    set_gradient_hook([this](const Tensor& gradient) { seen_.push_back(gradient.data()[0]); });
  }
  ~GradientHookTest() override { set_gradient_hook({}); }

  std::vector<float> seen_;  // first elements of the gradients reported, in order
};

TEST_F(GradientHookTest, ReportsEachLeafOnceWhenItIsComplete) {
  Leaf first(Tensor::from({2}, {1}));
  Leaf second(Tensor::from({3}, {1}));
  std::vector<float> seen_before_first;
  const Tensor h = toy_identity(toy_multiply(first.tensor(), first.tensor()), [&] { seen_before_first = seen_; });
  backward(toy_multiply(h, second.tensor()));
  EXPECT_EQ(seen_before_first, (std::vector<float>{4}));  // d/dsecond, while first's gradient is still to come
  EXPECT_EQ(seen_, (std::vector<float>{4, 12}));
}

TEST_F(GradientHookTest, WaitsForTheEarliestUse) {
  Leaf shared(Tensor::from({2}, {1}));
  Leaf other(Tensor::from({5}, {1}));
  const Tensor h = toy_multiply(shared.tensor(), other.tensor());
  backward(toy_multiply(h, shared.tensor()));  // shared^2 other
  EXPECT_EQ(seen_.size(), 2);
  expect_values(shared.grad(), {20});
  EXPECT_NE(std::ranges::find(seen_, 20.0F), seen_.end()) << "reported before it was complete";
  EXPECT_NE(std::ranges::find(seen_, 4.0F), seen_.end());
}

TEST_F(GradientHookTest, SkipsLeavesThatNoGradientReached) {
  Leaf x(Tensor::from({2}, {1}));
  Leaf unused(Tensor::from({3}, {1}));
  const Tensor ignored = toy_multiply(unused.tensor(), unused.tensor());
  backward(toy_multiply(x.tensor(), x.tensor()));
  EXPECT_EQ(seen_, (std::vector<float>{4}));
}

TEST_F(GradientHookTest, ReportsAgainInTheNextStepAndNotWhenRemoved) {
  Leaf x(Tensor::from({2}, {1}));
  for (int step = 0; step < 2; ++step) {
    x.clear_gradient();
    backward(toy_multiply(x.tensor(), x.tensor()));
  }
  EXPECT_EQ(seen_, (std::vector<float>{4, 4}));
  set_gradient_hook({});
  backward(toy_multiply(x.tensor(), x.tensor()));
  EXPECT_EQ(seen_.size(), 2);
}

}  // namespace
}  // namespace lockring
