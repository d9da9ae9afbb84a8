#include "ops/cross_entropy.h"

#include "core/autograd.h"
#include "ops/cross_entropy_kernel.h"
#include "tests/ops/instruction_sets.h"
#include "tests/support/device_test.h"
#include "tests/support/errors.h"
#include "tests/support/gradient_check.h"
#include "tests/support/tensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace lockring {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor labels_on(Device device, const std::vector<std::int32_t>& labels) {
  return Tensor::from(std::span(labels), {static_cast<std::int64_t>(labels.size())}, device);
}

class CrossEntropyTest : public DeviceTest {
 protected:
  static Tensor labels_of(const std::vector<std::int32_t>& labels) { return labels_on(device(), labels); }

  // A label out of range is an error that names the row, or on a GPU a loss that is NaN.
  static void expect_bad_label(const char* row, const Tensor& logits, const Tensor& labels,
                               const ops::MixedLabels& mixed = {}) {
    if (device().kind == DeviceKind::cpu)
      return expect_error(ErrorCode::data, row, [&] { ops::cross_entropy(logits, labels, 0, mixed); });
    const Leaf leaf(logits);
    const Tensor loss = ops::cross_entropy(leaf.tensor(), labels, 0, mixed);
    EXPECT_TRUE(std::isnan(loss.item()));
    backward(loss);  // which writes nowhere else
  }
};
LOCKRING_DEVICE_TESTS(CrossEntropyTest);

TEST_P(CrossEntropyTest, SumsTheLossesOfTheBatch) {
  const float log2 = std::log(2.0F);
  const Tensor logits = tensor({0, log2, 0, 0}, {2, 2});  // probabilities 1/3, 2/3 and 1/2, 1/2
  expect_values(ops::cross_entropy(logits, labels_of({0, 1})), {std::log(3.0F) + log2});
  expect_values(ops::cross_entropy(logits, labels_of({1, 1})), {std::log(1.5F) + log2});
}

TEST_P(CrossEntropyTest, SmoothingMovesWeightToAllClasses) {
  const Tensor logits = tensor({1, 2, 4}, {1, 3});
  const double log_sum = std::log(std::exp(1.0) + std::exp(2.0) + std::exp(4.0));
  const double expected = log_sum - (0.7 * 4 + 0.1 * (1 + 2 + 4));
  expect_values(ops::cross_entropy(logits, labels_of({2}), 0.3F), {static_cast<float>(expected)});
}

TEST_P(CrossEntropyTest, MixedLabelsShareTheTarget) {
  const Tensor logits = random({3, 7});
  const Tensor labels = labels_of({6, 0, 3}), partners = labels_of({1, 0, 5});
  const Tensor weights = tensor({0.25F, 0.5F, 1}, {3});
  for (const float smoothing : {0.0F, 0.1F}) {
    float expected = 0;
    for (std::int64_t row = 0; row < 3; ++row) {
      const auto alone = [&](const Tensor& of) {
        return ops::cross_entropy(logits.slice(row, row + 1), of.slice(row, row + 1), smoothing).item();
      };
      const float weight = on_cpu(weights).data()[row];
      expected += weight * alone(labels) + (1 - weight) * alone(partners);
    }
    expect_values(ops::cross_entropy(logits, labels, smoothing, {partners, weights}), {expected});
    check_gradients([&](auto x) { return ops::cross_entropy(x[0], labels, smoothing, {partners, weights}); }, {logits});
  }
  expect_bad_label("row 2", logits, labels, {labels_of({0, 0, 7}), weights});
  expect_error(ErrorCode::usage, "partners' labels I32 [2]", [&] {
    ops::cross_entropy(logits, labels, 0, {labels_of({0, 0}), weights});
  });
  expect_error(ErrorCode::usage, "weights [2]", [&] {
    ops::cross_entropy(logits, labels, 0, {partners, tensor({1, 1}, {2})});
  });
}

TEST_P(CrossEntropyTest, OfHugeLogitsIsSafe) {
  const Tensor logits = tensor({3e38F, 0, 1e5F, 1e5F}, {2, 2});
  expect_values(ops::cross_entropy(logits, labels_of({0, 0})), {std::log(2.0F)});
  EXPECT_EQ(ops::cross_entropy(tensor({0, -kInfinity}, {1, 2}), labels_of({0})).item(), 0);
  EXPECT_EQ(ops::cross_entropy(tensor({0, -kInfinity}, {1, 2}), labels_of({1})).item(), kInfinity);
}

TEST_P(CrossEntropyTest, NanInNanOut) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Tensor& logits : {tensor({0, nan, 0, 0}, {2, 2}), tensor({0, 0, nan, 0}, {2, 2})})
    EXPECT_TRUE(std::isnan(ops::cross_entropy(logits, labels_of({0, 1})).item()));
}

TEST_P(CrossEntropyTest, GradientMatchesFiniteDifferences) {
  const Tensor labels = labels_of({6, 0, 3});
  for (const float smoothing : {0.0F, 0.1F})
    check_gradients([&](auto x) { return ops::cross_entropy(x[0], labels, smoothing); }, {random({3, 7})});
}

TEST_P(CrossEntropyTest, OfOneClassOrNoRowsIsZero) {
  EXPECT_EQ(ops::cross_entropy(tensor({5}, {1, 1}), labels_of({0}), 0.1F).item(), 0);
  const Leaf logits(random({0, 3}));
  const Tensor loss = ops::cross_entropy(logits.tensor(), labels_of({}));
  EXPECT_EQ(loss.item(), 0);
  backward(loss);
  EXPECT_EQ(logits.grad().shape(), Shape({0, 3}));
}

TEST_P(CrossEntropyTest, RefusesBadLabelsAndShapes) {
  const Tensor logits = random({2, 3});
  expect_bad_label("row 1 is not in [0, 3)", logits, labels_of({0, 3}));
  expect_bad_label("row 0", logits, labels_of({-1, 0}));
  expect_error(ErrorCode::usage, "labels I32 [1]", [&] { ops::cross_entropy(logits, labels_of({0})); });
  expect_error(ErrorCode::usage, "labels F32 [2]", [&] { ops::cross_entropy(logits, tensor({0, 1}, {2})); });
  expect_error(ErrorCode::usage, "smoothing 1", [&] { ops::cross_entropy(logits, labels_of({0, 1}), 1); });
}

TEST(CrossEntropy, BitsDoNotDependOnTheInstructionSet) {
  const Tensor logits = random_tensor({7, 10}, 1, -20, 20);
  const Tensor labels = labels_on({}, {0, 1, 2, 3, 4, 5, 9});
  const Tensor partners = labels_on({}, {3, 1, 4, 1, 5, 9, 2});
  const Tensor weights = random_tensor({7}, 2, 0, 1);
  const CrossEntropyTarget target{labels.data<std::int32_t>(), partners.data<std::int32_t>(), weights.data(), 0.1F};
  Tensor probabilities = Tensor::empty(logits.shape());
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(cross_entropy), [&](auto* cross_entropy) {
    Tensor loss = Tensor::empty({1});
    std::int64_t bad_row = 0;
    cross_entropy(logits.data(), target, 7, 10, probabilities.data(), loss.data(), &bad_row);
    EXPECT_EQ(bad_row, -1);
    return loss;
  });
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(cross_entropy_gradient), [&](auto* gradient) {
    Tensor dlogits = Tensor::empty(logits.shape());
    const float dloss = 0.3F;
    gradient(std::as_const(probabilities).data(), target, 7, 10, &dloss, dlogits.data());
    return dlogits;
  });
}

}  // namespace
}  // namespace lockring
