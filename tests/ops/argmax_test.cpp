#include "ops/argmax.h"

#include "tests/support/device_test.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace lockring {
namespace {

using ArgmaxTest = DeviceTest;
LOCKRING_DEVICE_TESTS(ArgmaxTest);

Tensor indices(const std::vector<std::int32_t>& values) {
  return Tensor::from(std::span(values), {static_cast<std::int64_t>(values.size())});
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST_P(ArgmaxTest, FindsTheFirstOfEquals) {
  expect_same_bits(ops::argmax(tensor({1, 3, 2, 5, 0, 5, -1, -1, -1}, {3, 3})), indices({1, 0, 0}));
  expect_same_bits(ops::argmax(tensor({4}, {1, 1})), indices({0}));
  EXPECT_EQ(ops::argmax(random({0, 3})).shape(), Shape({0}));
}

TEST_P(ArgmaxTest, OfARowWithNanIsNoClass) {
  expect_same_bits(ops::argmax(tensor({kNan, 1, 1, kNan, 0, 1}, {3, 2})), indices({-1, -1, 1}));
}

TEST_P(ArgmaxTest, CountsTheRowsThatMatchTheirLabel) {
  const Tensor scores = tensor({0, 1, 1, 0, 2, 2, kNan, 3}, {4, 2});
  const auto labels = [](const std::vector<std::int32_t>& values) { return indices(values).to(device()); };
  EXPECT_EQ(ops::count_correct(scores, labels({1, 1, 0, 1})), 2);
  EXPECT_EQ(ops::count_correct(scores, labels({0, 1, 1, 0})), 0);
  EXPECT_EQ(ops::count_correct(random({0, 2}), labels({})), 0);
  const Tensor correct = ops::correct_count(scores, labels({1, 1, 0, 1}));
  EXPECT_EQ(correct.device(), device());
  EXPECT_EQ(correct.item<std::int64_t>(), 2);
}

TEST_P(ArgmaxTest, RefusesShapesThatDoNotFit) {
  expect_error(ErrorCode::usage, "[2, 0]", [] { ops::argmax(random({2, 0})); });
  expect_error(ErrorCode::usage, "[2]", [] { ops::argmax(random({2})); });
  expect_error(ErrorCode::usage, "labels I32 [1]", [] { ops::count_correct(random({2, 3}), indices({0})); });
}

}  // namespace
}  // namespace lockring
