// The tape's memory: what lives on it, for how long, and on which thread.
#include "core/allocator.h"
#include "core/autograd.h"
#include "tests/core/toy_ops.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace lockring {
namespace {

TEST(Tape, CountsItsNodesAndEndsEmpty) {
  Leaf x(Tensor::from({3}, {1}));
  EXPECT_EQ(live_nodes(), 0);
  Tensor y = toy_multiply(x.tensor(), x.tensor());
  y = toy_multiply(y, x.tensor());
  EXPECT_EQ(live_nodes(), 2);
  backward(y);
  EXPECT_EQ(live_nodes(), 0);
  y = toy_multiply(x.tensor(), x.tensor());
  EXPECT_EQ(live_nodes(), 1);
  clear_tape();
  EXPECT_EQ(live_nodes(), 0);
}

TEST(Tape, ResultsOfAnOldTapeAreConstants) {
  Leaf x(Tensor::from({3}, {1}));
  const Tensor of_backward = toy_multiply(x.tensor(), x.tensor());
  EXPECT_TRUE(needs_gradient(of_backward));
  backward(of_backward);
  EXPECT_FALSE(needs_gradient(of_backward));
  const Tensor of_clear = toy_multiply(x.tensor(), x.tensor());
  clear_tape();
  EXPECT_FALSE(needs_gradient(of_clear));
  expect_error(ErrorCode::usage, "not on the tape", [&] { backward(of_backward); });

  x.clear_gradient();
  backward(toy_multiply(toy_multiply(of_backward, of_clear), x.tensor()));  // 9 * 9 * x
  expect_values(x.grad(), {81});
}

TEST(Tape, ClosuresAreFreedAsSoonAsTheyHaveRun) {
  Leaf x(Tensor::from({3}, {1}));
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> observer = held;
  bool freed_before_earlier_ran = false;
  const Tensor early = toy_identity(x.tensor(), [&] { freed_before_earlier_ran = observer.expired(); });
  const Tensor late = toy_identity(early, [held] { ASSERT_NE(held, nullptr); });
  held.reset();
  EXPECT_FALSE(observer.expired());
  backward(late);
  EXPECT_TRUE(freed_before_earlier_ran);
}

TEST(Tape, GradientsOfResultsAreFreedAsSoonAsTheyArePassedOn) {
  Leaf x(Tensor::from({3}, {1}));
  auto memory = std::make_shared<std::array<float, 1>>();
  const std::weak_ptr<std::array<float, 1>> observer = memory;
  bool freed_before_earlier_ran = false;
  const Tensor early = toy_identity(x.tensor(), [&] { freed_before_earlier_ran = observer.expired(); });
  const Tensor middle = toy_multiply(early, early);
  Tensor late = middle.clone();
  Tensor gradient = Tensor::view_of(Storage::wrap(memory->data(), 4, memory), 0, {1});
  memory.reset();
  record(late, {&middle}, [gradient = std::move(gradient)](const Tensor&, GradTargets to) { to[0].add(gradient); });
  EXPECT_FALSE(observer.expired());
  backward(late);
  EXPECT_TRUE(freed_before_earlier_ran);
}

TEST(Tape, ClearingFreesClosures) {
  Leaf x(Tensor::from({3}, {1}));
  auto held = std::make_shared<int>(1);
  toy_identity(x.tensor(), [held] {});
  EXPECT_EQ(held.use_count(), 2);
  clear_tape();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Tape, ALeafThatDiesTakesItsRecordsAlong) {
  Leaf x(Tensor::from({3}, {1}));
  Tensor y;
  {
    const Leaf brief(Tensor::from({2}, {1}));
    y = toy_multiply(brief.tensor(), x.tensor());
    const Leaf unused(Tensor::from({2}, {1}));
  }
  EXPECT_EQ(live_nodes(), 0);
  EXPECT_FALSE(needs_gradient(y));
  const Tensor z = toy_multiply(y, x.tensor());
  { const Leaf unused(Tensor::from({2}, {1})); }
  EXPECT_EQ(live_nodes(), 1);
  backward(z);
  expect_values(x.grad(), {6});
}

TEST(Tape, GrowsAsNeeded) {
  Leaf x(Tensor::from({1}, {1}));
  Tensor sum = x.tensor();
  for (int i = 0; i < 5000; ++i) sum = toy_add(sum, x.tensor());
  EXPECT_EQ(live_nodes(), 5000);
  backward(sum);
  expect_values(x.grad(), {5001});
}

TEST(Tape, RejectsAClosureLargerThanItsChunks) {
  Leaf x(Tensor::from({1}, {1}));
  struct Large {
    std::array<char, 100'000> bytes{};
  };
  Tensor y = Tensor::zeros({1});
  const auto large = std::make_unique<Large>();
  expect_error(ErrorCode::other, "too large for the tape",
               [&] { record(y, {&x.tensor()}, [large = *large](const Tensor&, GradTargets) {}); });
  EXPECT_EQ(live_nodes(), 0);
}

void one_step(Leaf& x, const Tensor& gradient) {
  Tensor y = x.tensor();
  for (int i = 0; i < 500; ++i) y = toy_add(toy_multiply(y, x.tensor()), x.tensor());
  x.clear_gradient();
  backward(y, gradient);
}

TEST(Tape, ASteadyStepAllocatesNothing) {
  Leaf x(random_tensor({100}, 1));
  x.bind_gradient(Tensor::empty({100}));
  const Tensor gradient = Tensor::full({100}, 1);
  one_step(x, gradient);
  const std::int64_t system_before = allocator_stats().system_allocations;
  const AllocationCounter counter;
  one_step(x, gradient);
  EXPECT_EQ(counter.count(), 0);
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the allocator keeps nothing under the address sanitizer";
#endif
  EXPECT_EQ(allocator_stats().system_allocations, system_before);
}

TEST(Tape, TellsEachOpOfABackwardOnce) {
  Leaf x(Tensor::from({3}, {1}));
  std::vector<std::int64_t> ops;
  set_backward_hook([&](std::int64_t op) { ops.push_back(op); });
  const Tensor square = toy_multiply(x.tensor(), x.tensor());
  toy_add(square, square);  // no gradient reaches it
  const std::int64_t before = live_nodes();
  const Tensor cube = toy_multiply(square, x.tensor());
  backward(cube);
  EXPECT_EQ(ops, (std::vector<std::int64_t>{before, 1, 0}));
  expect_values(x.grad(), {27});

  std::thread([&] { backward(toy_multiply(x.tensor(), x.tensor())); }).join();
  set_backward_hook({});
  backward(toy_multiply(x.tensor(), x.tensor()));
  EXPECT_EQ(ops.size(), 3u) << "a hook is its thread's own, until it is taken away";
}

TEST(TapeThreads, EachThreadSeesItsOwn) {
  Leaf x(Tensor::from({3}, {1}));
  const Tensor mine = toy_multiply(x.tensor(), x.tensor());
  std::thread([&] {
    EXPECT_EQ(live_nodes(), 0);
    EXPECT_FALSE(needs_gradient(mine));
    Leaf z(Tensor::from({5}, {1}));
    backward(toy_multiply(toy_multiply(z.tensor(), z.tensor()), mine));  // z^2 * 9
    expect_values(z.grad(), {90});
    clear_tape();
    const NoGrad no_grad;
    EXPECT_FALSE(grad_enabled());
  }).join();
  EXPECT_TRUE(grad_enabled());
  EXPECT_EQ(live_nodes(), 1);
  backward(mine);
  expect_values(x.grad(), {6});
}

TEST(TapeThreads, ManyRunAtOnce) {
  std::vector<float> results(4);
  std::vector<std::thread> threads;
  for (std::size_t id = 0; id < results.size(); ++id)
    threads.emplace_back([id, &results] {
      Leaf x(Tensor::full({10}, static_cast<float>(id)));
      for (int step = 0; step < 200; ++step) {
        x.clear_gradient();
        backward(toy_multiply(x.tensor(), x.tensor()), Tensor::full({10}, 1));
      }
      results[id] = x.grad().data()[9];
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, (std::vector<float>{0, 2, 4, 6}));
}

TEST(TapeThreads, AThreadThatEndsWithARecordedTapeFreesIt) {
  auto held = std::make_shared<int>(1);
  Leaf x(Tensor::from({3}, {1}));
  std::thread([&] {
    EXPECT_EQ(live_nodes(), 0);  // makes the tape, so that it ends after what the allocator keeps for the thread
    toy_identity(x.tensor(), [held] {});
    EXPECT_EQ(live_nodes(), 1);
  }).join();
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace lockring
