#include "ops/linear.h"

#include "tests/support/device_test.h"
#include "tests/support/errors.h"
#include "tests/support/gradient_check.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

namespace lockring {
namespace {

using LinearTest = DeviceTest;
LOCKRING_DEVICE_TESTS(LinearTest);

TEST_P(LinearTest, MatchesKnownValues) {
  const Tensor x = tensor({1, 2, 3, -1, 0, 2}, {2, 3});
  const Tensor w = tensor({1, 0, -1, 2, 1, 0}, {2, 3});
  const Tensor b = tensor({0.5F, -10}, {2});
  expect_values(ops::linear(x, w), {-2, 4, -3, -2});
  expect_values(ops::linear(x, w, b), {-1.5F, -6, -2.5F, -12});
  expect_values(ops::linear(x, w, b, Activation::relu), {0, 0, 0, 0});
}

TEST_P(LinearTest, GradientMatchesFiniteDifferences) {
  check_gradients([](auto x) { return ops::linear(x[0], x[1], x[2]); },
                  {random({5, 3}), random({4, 3}, 2), random({4}, 3)});
  check_gradients([](auto x) { return ops::linear(x[0], x[1]); }, {random({1, 70}), random({65, 70}, 2)});
}

TEST_P(LinearTest, ReluStopsTheGradientWhereItCuts) {
  const Tensor bias = tensor({5, -5, 5}, {3});  // far from the kink: always on, always off, always on
  check_gradients([&](auto x) { return ops::linear(x[0], x[1], bias, Activation::relu); },
                  {random({4, 2}), random({3, 2}, 2)});
}

TEST(Linear, BitsDependNeitherOnPackingNorOnTheBatch) {
  const Tensor x = random_tensor({67, 150});
  const Tensor w = random_tensor({90, 150}, 2);
  const Tensor b = random_tensor({90}, 3);
  Tensor packed;
  ops::pack_linear_weights(w, packed);
  const Tensor y = ops::linear(x, w, b);
  expect_same_bits(ops::linear(x, w, b, Activation::none, packed), y);
  for (std::int64_t row : {0, 1, 66}) {
    expect_same_bits(ops::linear(x.slice(row, row + 1), w, b, Activation::none, packed), y.slice(row, row + 1));
    expect_same_bits(ops::linear(x.slice(row, row + 1), w, b), y.slice(row, row + 1));
  }
}

TEST_P(LinearTest, TakesViewsThatBeginAnywhere) {
  const Tensor x = random({3, 5});
  const Tensor w = random({4, 5}, 2);
  const Tensor b = random({5}, 3);
  const Tensor part = ops::linear(x.slice(1, 3), w.slice(1, 4), b.slice(2, 5));
  expect_near(part, ops::linear(x.slice(1, 3).clone(), w.slice(1, 4).clone(), b.slice(2, 5).clone()));
}

TEST_P(LinearTest, AnEmptyBatchIsAllowed) {
  check_gradients([](auto x) { return ops::linear(x[0], x[1], x[2]); },
                  {random({0, 3}), random({2, 3}, 2), random({2}, 3)});
  EXPECT_EQ(ops::linear(random({0, 3}), random({2, 3})).shape(), Shape({0, 2}));
}

TEST_P(LinearTest, RefusesShapesThatDoNotFit) {
  expect_error(ErrorCode::usage, "[4, 2]", [&] { ops::linear(random({1, 3}), random({4, 2})); });
  expect_error(ErrorCode::usage, "bias [3]", [&] { ops::linear(random({1, 2}), random({4, 2}), random({3})); });
  expect_error(ErrorCode::usage, "packed weights of shape [7]", [&] {
    ops::linear(random({1, 2}), random({4, 2}), {}, Activation::none, random({7}));
  });
}

TEST(Linear, PackingRefusesShapesThatDoNotFit) {
  Tensor packed = random_tensor({7});
  expect_error(ErrorCode::usage, "[7] do not fit weights [4, 2]", [&] {
    ops::pack_linear_weights(random_tensor({4, 2}), packed);
  });
  expect_error(ErrorCode::usage, "[out, in]", [&] { ops::pack_linear_weights(random_tensor({4}), packed); });
}

TEST(Linear, NoOutputsAreAllowed) {
  Tensor packed;
  ops::pack_linear_weights(random_tensor({0, 3}), packed);
  const Tensor y = ops::linear(random_tensor({2, 3}), random_tensor({0, 3}), {}, Activation::none, packed);
  EXPECT_EQ(y.shape(), Shape({2, 0}));
}

}  // namespace
}  // namespace lockring
