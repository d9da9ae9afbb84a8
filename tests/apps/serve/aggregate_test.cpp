#include "apps/serve/aggregate.h"

#include "tests/support/errors.h"

#include <gtest/gtest.h>

namespace lockring::app::serve {
namespace {

const Tensor kFirst = Tensor::from({0.6F, 0.3F, 0.1F, 0.2F, 0.5F, 0.3F}, {2, 3});
const Tensor kSecond = Tensor::from({0.2F, 0.5F, 0.3F, 0.1F, 0.8F, 0.1F}, {2, 3});
const Tensor kThird = Tensor::from({0.1F, 0.5F, 0.4F, 0.9F, 0.0F, 0.1F}, {2, 3});

void expect_near(const Tensor& found, std::initializer_list<float> expected) {
  ASSERT_EQ(found.elements(), std::ssize(expected));
  const float* value = found.data();
  for (const float each : expected) EXPECT_NEAR(*value++, each, 1e-6);
}

TEST(Aggregate, MeanIsThatOfTheProbabilities) {
  const Aggregate result = aggregate(Method::mean, std::vector{kFirst, kSecond}, std::vector{7.0, 1.0});
  expect_near(result.probabilities, {0.4F, 0.4F, 0.2F, 0.15F, 0.65F, 0.2F});
  expect_near(result.agreement, {0.5F, 1.0F});
}

TEST(Aggregate, WeightsCountByTheirShare) {
  const Aggregate result = aggregate(Method::weighted, std::vector{kFirst, kSecond}, std::vector{3.0, 1.0});
  expect_near(result.probabilities, {0.5F, 0.35F, 0.15F, 0.175F, 0.575F, 0.25F});
}

TEST(Aggregate, VotesAreCountedAndTheMeanBreaksTies) {
  const Aggregate three = aggregate(Method::vote, std::vector{kFirst, kSecond, kThird}, std::vector{1.0, 1.0, 1.0});
  EXPECT_EQ(likeliest(three.probabilities.values().first(3)), 1u);
  EXPECT_EQ(likeliest(three.probabilities.values().last(3)), 1u);
  EXPECT_NEAR(three.agreement.data()[0], 2.0 / 3, 1e-6);
  // One vote each: the class that the mean prefers, though it is not the first.
  const Aggregate even = aggregate(Method::vote, std::vector{kSecond, kThird}, std::vector{1.0, 1.0});
  EXPECT_EQ(likeliest(even.probabilities.values().last(3)), 0u);
  EXPECT_FLOAT_EQ(even.agreement.data()[1], 0.5F);
}

TEST(Aggregate, PoliciesCountThoseWhoAnswered) {
  EXPECT_TRUE(enough(Policy::all, 3, 3));
  EXPECT_FALSE(enough(Policy::all, 2, 3));
  EXPECT_TRUE(enough(Policy::any, 1, 3));
  EXPECT_FALSE(enough(Policy::any, 0, 3));
  EXPECT_TRUE(enough(Policy::quorum, 2, 3));
  EXPECT_FALSE(enough(Policy::quorum, 1, 2)) << "half is no quorum";
}

TEST(Aggregate, NamesAreThoseOfTheCommandLine) {
  for (const char* name : {"mean", "weighted", "vote"}) EXPECT_EQ(name_of(method_named(name)), name);
  for (const char* name : {"all", "any", "quorum"}) EXPECT_EQ(name_of(policy_named(name)), name);
  expect_error(ErrorCode::usage, "median", [] { method_named("median"); });
}

}  // namespace
}  // namespace lockring::app::serve
