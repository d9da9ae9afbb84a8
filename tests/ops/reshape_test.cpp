#include "ops/reshape.h"

#include "core/autograd.h"
#include "tests/support/device_test.h"
#include "tests/support/errors.h"
#include "tests/support/gradient_check.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

namespace lockring {
namespace {

using ReshapeTest = DeviceTest;
LOCKRING_DEVICE_TESTS(ReshapeTest);

TEST_P(ReshapeTest, SharesTheMemory) {
  const Tensor x = random({2, 3, 4});
  const Tensor y = ops::reshape(x, {4, 6});
  EXPECT_EQ(y.shape(), Shape({4, 6}));
  EXPECT_EQ(y.raw(), x.raw());
  EXPECT_EQ(ops::flatten(x).shape(), Shape({2, 12}));
  EXPECT_EQ(ops::flatten(x).raw(), x.raw());
}

TEST_P(ReshapeTest, GradientMatchesFiniteDifferences) {
  check_gradients([](auto x) { return ops::reshape(x[0], {4, 6}); }, {random({2, 3, 4})});
  check_gradients([](auto x) { return ops::flatten(x[0]); }, {random({2, 3, 2})});
}

TEST_P(ReshapeTest, OneMemoryMayBeTheGradientOfTwoInputs) {
  const Leaf x(random({2, 3}));
  const Leaf y(random({2, 3}, 2));
  const Tensor gradient = random({6}, 3);
  for (const Leaf* leaf : {&x, &y}) backward(ops::reshape(leaf->tensor(), {6}), gradient);
  backward(ops::reshape(x.tensor(), {6}), gradient);
  expect_near(x.grad(), sum_of(gradient, gradient).view({2, 3}));
  expect_near(y.grad(), gradient.view({2, 3}));
}

TEST_P(ReshapeTest, FlattenTakesVectorsAndEmptyBatches) {
  EXPECT_EQ(ops::flatten(random({3})).shape(), Shape({3, 1}));
  EXPECT_EQ(ops::flatten(random({0, 2, 3})).shape(), Shape({0, 6}));
}

TEST_P(ReshapeTest, RefusesAnotherNumberOfElements) {
  expect_error(ErrorCode::usage, "[2, 3]", [] { ops::reshape(random({2, 3}), {7}); });
  expect_error(ErrorCode::usage, "rank 0", [] { ops::flatten(Tensor::zeros({})); });
}

}  // namespace
}  // namespace lockring
