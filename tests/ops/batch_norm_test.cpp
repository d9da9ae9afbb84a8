#include "ops/batch_norm.h"

#include "core/barrier.h"
#include "ops/batch_norm_kernel.h"
#include "tests/ops/instruction_sets.h"
#include "tests/support/device_test.h"
#include "tests/support/errors.h"
#include "tests/support/gradient_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

namespace lockring {
namespace {

using BatchNormTest = DeviceTest;
LOCKRING_DEVICE_TESTS(BatchNormTest);

struct Moments {
  double mean = 0, variance = 0;  // biased
};

// The moments of one channel of x [n][pixels][c], in double.
Moments moments_of(const Tensor& values, std::int64_t channel) {
  const Tensor x = on_cpu(values);
  const std::int64_t channels = x.size(-1);
  const std::int64_t rows = x.elements() / channels;
  Moments moments;
  for (std::int64_t row = 0; row < rows; ++row)
    moments.mean += double{x.data()[row * channels + channel]} / static_cast<double>(rows);
  for (std::int64_t row = 0; row < rows; ++row)
    moments.variance += std::pow(x.data()[row * channels + channel] - moments.mean, 2) / static_cast<double>(rows);
  return moments;
}

// One group, in double.
Tensor reference(const Tensor& values, const Tensor& gamma_values, const Tensor& beta_values, float epsilon) {
  const Tensor x = on_cpu(values);
  const Tensor gamma = on_cpu(gamma_values);
  const Tensor beta = on_cpu(beta_values);
  Tensor y = Tensor::empty(x.shape());
  const std::int64_t channels = x.size(-1);
  for (std::int64_t c = 0; c < channels; ++c) {
    const Moments moments = moments_of(x, c);
    const double scale = gamma.data()[c] / std::sqrt(moments.variance + epsilon);
    for (std::int64_t i = c; i < x.elements(); i += channels)
      y.data()[i] = static_cast<float>((x.data()[i] - moments.mean) * scale + beta.data()[c]);
  }
  return y;
}

TEST_P(BatchNormTest, MatchesKnownValues) {
  const Tensor x = tensor({1, 10, 3, 10, 1, 30, 3, 30}, {2, 2, 1, 2});  // means 2 and 20, variances 1 and 100
  const Tensor gamma = tensor({1, 2}, {2});
  const Tensor beta = tensor({0, 0.5F}, {2});
  expect_values(ops::batch_norm_train(x, gamma, beta), {-1, -1.5F, 1, -1.5F, -1, 2.5F, 1, 2.5F});
  expect_values(ops::batch_norm_train(x, gamma, beta, {.activation = Activation::relu}),
                {0, 0, 1, 0, 0, 2.5F, 1, 2.5F});
  const Tensor mean = tensor({1, 20}, {2});
  const Tensor variance = tensor({3, 24}, {2});
  expect_values(ops::batch_norm_eval(x, gamma, beta, mean, variance, {.epsilon = 1}),
                {0, -3.5F, 1, -3.5F, 0, 4.5F, 1, 4.5F});
}

TEST_P(BatchNormTest, MatchesADoubleReferenceForAnyNumberOfChannels) {
  for (const std::int64_t channels : {1, 3, 8, 16, 21, 64, 70, 133}) {
    const Tensor x = random({5, 3, 2, channels});
    const Tensor gamma = random({channels}, 2);
    const Tensor beta = random({channels}, 3);
    expect_near(ops::batch_norm_train(x, gamma, beta), reference(x, gamma, beta, 1e-5F), 1e-5);
  }
}

TEST_P(BatchNormTest, NormalisesGroupsAndJoinsTheRemainderToTheLast) {
  const Tensor x = random({8, 2, 2, 3});
  const Tensor gamma = random({3}, 2);
  const Tensor beta = random({3}, 3);
  const Tensor y = ops::batch_norm_train(x, gamma, beta, {.group = 3});
  const Tensor first = ops::batch_norm_train(x.slice(0, 3), gamma, beta, {.group = 3});
  const Tensor last = ops::batch_norm_train(x.slice(3, 8), gamma, beta, {.group = 5});
  expect_same_bits(y.slice(0, 3), first);
  expect_same_bits(y.slice(3, 8), last);
  expect_near(last, reference(x.slice(3, 8), gamma, beta, 1e-5F));
}

TEST_P(BatchNormTest, IsSoundFarFromZero) {
  Tensor far = random_tensor({32, 5, 5, 2}, 1, -0.5F, 0.5F);
  for (float& value : far.values()) value += 4096;
  const Tensor x = far.to(device());
  const Tensor gamma = tensor({1, 1}, {2});
  const Tensor beta = tensor({0, 0}, {2});
  expect_near(ops::batch_norm_train(x, gamma, beta), reference(x, gamma, beta, 1e-5F), 5e-4);
}

TEST_P(BatchNormTest, GathersTheMomentsOfEachGroup) {
  const Tensor x = random({7, 2, 2, 3});
  const Tensor gamma = tensor({1, 1, 1}, {3});
  const Tensor beta = tensor({0, 0, 0}, {3});
  Tensor mean = Tensor::full({3}, 100, device());
  Tensor variance = Tensor::full({3}, 100, device());
  for (const bool accumulate : {false, true}) {
    ops::batch_norm_train(x, gamma, beta, {.group = 3}, {{mean, accumulate}, {variance, accumulate}});
    for (std::int64_t c = 0; c < 3; ++c) {
      const Moments first = moments_of(x.slice(0, 3), c);
      const Moments last = moments_of(x.slice(3, 7), c);
      const double times = accumulate ? 2 : 1;
      EXPECT_NEAR(on_cpu(mean).data()[c], times * (3 * first.mean + 4 * last.mean), 1e-5);
      EXPECT_NEAR(on_cpu(variance).data()[c], times * (3 * first.variance * 12 / 11 + 4 * last.variance * 16 / 15),
                  1e-5);
    }
  }
}

TEST_P(BatchNormTest, MomentsDoNotDependOnTheMicroBatch) {
  const Tensor x = random({6, 4, 5});
  const Tensor gamma = random({5}, 2);
  Tensor mean = Tensor::empty({5}, DType::f32, device());
  Tensor variance = Tensor::empty({5}, DType::f32, device());
  ops::batch_norm_train(x, gamma, gamma, {.group = 2}, {{mean, false}, {variance, false}});
  Tensor mean_of_parts = Tensor::empty({5}, DType::f32, device());
  Tensor variance_of_parts = Tensor::empty({5}, DType::f32, device());
  for (std::int64_t part = 0; part < 3; ++part)
    ops::batch_norm_train(x.slice(2 * part, 2 * part + 2), gamma, gamma, {.group = 2},
                          {{mean_of_parts, part > 0}, {variance_of_parts, part > 0}});
  expect_same_bits(mean_of_parts, mean);
  expect_same_bits(variance_of_parts, variance);
}

TEST_P(BatchNormTest, GradientMatchesFiniteDifferences) {
  for (const std::int64_t channels : {1, 3, 17})
    check_gradients([](auto x) { return ops::batch_norm_train(x[0], x[1], x[2], {.group = 3}); },
                    {random({7, 2, 2, channels}, 1, -2, 2), random({channels}, 2), random({channels}, 3)});
  const Tensor mean = random({5}, 4);
  const Tensor variance = random({5}, 5, 0.5F, 2);
  check_gradients([&](auto x) { return ops::batch_norm_eval(x[0], x[1], x[2], mean, variance); },
                  {random({3, 2, 5}), random({5}, 2), random({5}, 3)});
}

TEST_P(BatchNormTest, ReluStopsTheGradientWhereItCuts) {
  const Tensor beta = tensor({9, -9, 9}, {3});  // far from the kink: always on, always off, always on
  const Tensor zero = tensor({0, 0, 0}, {3});
  const Tensor one = tensor({1, 1, 1}, {3});
  const ops::BatchNormOptions relu{.activation = Activation::relu};
  check_gradients([&](auto x) { return ops::batch_norm_train(x[0], x[1], beta, relu); },
                  {random({6, 2, 3}, 1, -2, 2), random({3}, 2)});
  check_gradients([&](auto x) { return ops::batch_norm_eval(x[0], x[1], beta, zero, one, relu); },
                  {random({6, 2, 3}), random({3}, 2)});
}

TEST_P(BatchNormTest, OfASingleValueIsBeta) {
  const Tensor beta = tensor({0.5F, -2}, {2});
  Tensor mean = Tensor::empty({2}, DType::f32, device());
  Tensor variance = Tensor::empty({2}, DType::f32, device());
  expect_values(ops::batch_norm_train(tensor({7, 8}, {1, 1, 1, 2}), tensor({3, 3}, {2}), beta, {},
                                      {{mean, false}, {variance, false}}),
                {0.5F, -2});
  expect_values(mean, {7, 8});
  expect_values(variance, {0, 0});
}

TEST_P(BatchNormTest, OfAnEmptyBatchIsEmptyAndAddsNothing) {
  const Leaf x(random({0, 2, 2, 3}));
  const Leaf gamma(random({3}));
  const Leaf beta(random({3}));
  Tensor mean = Tensor::full({3}, 100, device());
  Tensor variance = Tensor::full({3}, 1, device());
  const Tensor y =
      ops::batch_norm_train(x.tensor(), gamma.tensor(), beta.tensor(), {}, {{mean, false}, {variance, true}});
  EXPECT_EQ(y.shape(), x.tensor().shape());
  expect_values(mean, {0, 0, 0});
  expect_values(variance, {1, 1, 1});
  backward(y, Tensor::empty(y.shape(), DType::f32, device()));
  EXPECT_EQ(x.grad().shape(), y.shape());
  expect_values(gamma.grad(), {0, 0, 0});
  expect_values(beta.grad(), {0, 0, 0});
}

// Members that are threads: each calls sum() and waits for all.
class Members {
 public:
  explicit Members(int count) : barrier_(count), terms_(count) {}

  class Member : public GroupSum {
   public:
    Member(Members& all, int index) : all_(all), index_(index) {}
    void sum(std::span<double> values) override {
      all_.terms_[index_].assign(values.begin(), values.end());
      EXPECT_TRUE(all_.barrier_.wait());
      std::ranges::fill(values, 0.0);
      for (const std::vector<double>& terms : all_.terms_)
        for (std::size_t i = 0; i < values.size(); ++i) values[i] += terms[i];
      EXPECT_TRUE(all_.barrier_.wait());
    }

   private:
    Members& all_;
    int index_;
  };

 private:
  Barrier barrier_;
  std::vector<std::vector<double>> terms_;
};

// Of one image among others, of 3 and 5, of 8 with nothing elsewhere: each is the whole batch in one group.
TEST_P(BatchNormTest, PartsGiveWhatTheWholeBatchGives) {
  const Tensor all = random({8, 3, 3, 5}, 1, 49, 51);  // a mean that squares would drown
  const Tensor dy = random({8, 3, 3, 5}, 2), scale = random({5}, 3), shift = random({5}, 4);
  const ops::BatchNormOptions options{.group = 8, .activation = Activation::relu};
  Tensor means = Tensor::empty({5}, DType::f32, device()), variances = means.clone();
  const Leaf x(all), gamma(scale), beta(shift);
  const Tensor y =
      ops::batch_norm_train(x.tensor(), gamma.tensor(), beta.tensor(), options, {{means, false}, {variances, false}});
  backward(y, dy);
  const Tensor whole = on_cpu(y), whole_dx = on_cpu(x.grad());  // for other threads to read

  for (const std::vector<std::int64_t>& ends : {std::vector<std::int64_t>{8}, {3, 8}, {1, 2, 8}, {0, 8, 8, 8}}) {
    const auto count = static_cast<int>(ends.size());
    Members members(count);
    std::vector<Tensor> sums(static_cast<std::size_t>(count));  // dgamma, dbeta, mean, variance of each part
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&, i] {
        const std::int64_t begin = i == 0 ? 0 : ends[i - 1], end = ends[i];
        Members::Member member(members, i);
        Tensor mean = Tensor::empty({5}, DType::f32, device()), variance = mean.clone();
        const Leaf part(all.slice(begin, end).clone()), own_gamma(scale), own_beta(shift);
        const Tensor result = ops::batch_norm_together(part.tensor(), own_gamma.tensor(), own_beta.tensor(), member,
                                                       options, {{mean, false}, {variance, false}});
        expect_near(result, whole.slice(begin, end), 1e-5);
        backward(result, dy.slice(begin, end));
        expect_near(part.grad(), whole_dx.slice(begin, end), 1e-5);
        sums[i] = Tensor::empty({4, 5});
        const Tensor rows[] = {own_gamma.grad(), own_beta.grad(), mean, variance};
        for (int row = 0; row < 4; ++row) sums[i].slice(row, row + 1).copy_from(rows[row]);
      });
    for (std::thread& thread : threads) thread.join();
    Tensor total = Tensor::zeros({4, 5});
    for (const Tensor& part : sums)
      for (std::int64_t k = 0; k < 20; ++k) total.data()[k] += part.data()[k];
    expect_near(total.slice(0, 1).view({5}), gamma.grad(), 1e-4);
    expect_near(total.slice(1, 2).view({5}), beta.grad(), 1e-4);
    expect_near(total.slice(2, 3).view({5}), means, 1e-3);
    expect_near(total.slice(3, 4).view({5}), variances, 1e-3);
  }
}

TEST_P(BatchNormTest, RefusesWhatDoesNotFit) {
  const Tensor x = random({2, 3});
  const Tensor three = random({3});
  const Tensor two = random({2});
  expect_error(ErrorCode::usage, "x is [n, ..., channels], not [3]",
               [&] { ops::batch_norm_train(three, three, three); });
  expect_error(ErrorCode::usage, "gamma [2]", [&] { ops::batch_norm_train(x, two, three); });
  expect_error(ErrorCode::usage, "group 0", [&] { ops::batch_norm_train(x, three, three, {.group = 0}); });
  expect_error(ErrorCode::usage, "epsilon 0", [&] { ops::batch_norm_train(x, three, three, {.epsilon = 0}); });
  expect_error(ErrorCode::usage, "variance [2]", [&] { ops::batch_norm_eval(x, three, three, three, two); });
}

TEST(BatchNorm, BitsDoNotDependOnTheInstructionSet) {
  constexpr std::int64_t kChannels = 85;
  const BatchNormShape shape{4, 9, kChannels, 4};
  const Tensor x = random_tensor({4, 9, kChannels});
  const Tensor dy = random_tensor({4, 9, kChannels}, 2);
  const Tensor gamma = random_tensor({kChannels}, 3);
  Tensor moments = Tensor::empty({2, kChannels});
  const BatchNormTerms terms{moments.data(),  moments.data() + kChannels, gamma.data(), gamma.data(), 1e-5F,
                             Activation::relu};
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(batch_norm_moments), [&](auto* kernel) {
    kernel(shape, x.data(), moments.data(), moments.data() + kChannels);
    return moments.clone();
  });
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(batch_norm_apply), [&](auto* kernel) {
    Tensor y = Tensor::empty(x.shape());
    kernel(shape, x.data(), terms, y.data());
    return y;
  });
  Tensor sums = Tensor::empty({2, kChannels});
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(batch_norm_sums), [&](auto* kernel) {
    kernel(shape, x.data(), dy.data(), terms, sums.data(), sums.data() + kChannels);
    return sums.clone();
  });
  expect_same_bits_on_both(LOCKRING_SIMD_KERNELS(batch_norm_input_gradient), [&](auto* kernel) {
    Tensor dx = Tensor::empty(x.shape());
    kernel(shape, x.data(), dy.data(), terms, sums.data(), sums.data() + kChannels, dx.data());
    return dx;
  });
}

}  // namespace
}  // namespace lockring
