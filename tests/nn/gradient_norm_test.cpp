#include "nn/gradient_norm.h"

#include "tests/nn/toy_module.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace lockring::nn {
namespace {

TEST(GradientNorm, SumsTheSquaresOfWeightsAndBiases) {
  const auto layout = toy_layout();
  const Arena gradient = random_arena(layout, 1);
  long double expected = 0;
  for (const Segment& segment : layout->segments()) {
    if (segment.kind == ParameterKind::statistic) continue;
    for (const long double value : gradient.view(segment).values()) expected += value * value;
  }
  const double sum = square_sum(*layout, gradient.buffer().data(), 0, layout->elements());
  EXPECT_NEAR(sum, static_cast<double>(expected), 1e-12 * sum);
}

TEST(GradientNorm, BlocksDoNotDependOnWhoSumsThem) {
  const auto layout = toy_layout();
  const Arena gradient = random_arena(layout, 1);
  const std::int64_t elements = layout->elements();
  std::vector<double> together(static_cast<std::size_t>(elements / kSquareSumBlock) + 1);
  std::vector<double> apart = together;
  const double total = square_sum(*layout, gradient.buffer().data(), 0, elements, together);
  square_sum(*layout, gradient.buffer().data(), kSquareSumBlock, elements, apart);
  square_sum(*layout, gradient.buffer().data(), 0, kSquareSumBlock, apart);
  EXPECT_EQ(apart, together);
  EXPECT_EQ(std::accumulate(apart.begin(), apart.end(), 0.0), total);
}

TEST(GradientNorm, IsFiniteUnlessAGradientIsNot) {
  const auto layout = toy_layout();
  const Segment& last = layout->segments().back();
  const auto sum_with = [&](const Segment& segment, float value) {
    const Arena gradient = random_arena(layout, 1);
    gradient.view(segment).values()[static_cast<std::size_t>(segment.shape.elements() - 1)] = value;
    return square_sum(*layout, gradient.buffer().data(), 0, layout->elements());
  };
  EXPECT_TRUE(std::isfinite(sum_with(last, std::numeric_limits<float>::max())));
  EXPECT_FALSE(std::isfinite(sum_with(last, std::numeric_limits<float>::infinity())));
  EXPECT_TRUE(std::isnan(sum_with(last, std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isfinite(sum_with(*layout->find("norm.mean"), std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace lockring::nn
