#include "data/sampler.h"

#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace lockring::data {
namespace {

std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> values) {
  std::ranges::sort(values);
  return values;
}

Tensor labels_of(const std::vector<std::uint8_t>& labels) {
  return Tensor::from(std::span<const std::uint8_t>(labels), {static_cast<std::int64_t>(labels.size())});
}

// 0, 1, ..., classes-1, 0, ...
Tensor cyclic_labels(std::int64_t n, int classes) {
  std::vector<std::uint8_t> labels(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::uint8_t>(i % classes);
  return labels_of(labels);
}

TEST(EpochOrder, IsAPermutationOfTheSamples) {
  const std::vector<std::uint32_t> samples = {3, 5, 8, 13, 21, 34};
  for (std::int64_t epoch = 0; epoch < 10; ++epoch) EXPECT_EQ(sorted(epoch_order(samples, 7, epoch)), samples);
  EXPECT_TRUE(epoch_order({}, 7, 0).empty());
  EXPECT_EQ(epoch_order(std::vector<std::uint32_t>{9}, 7, 0), std::vector<std::uint32_t>{9});
}

TEST(EpochOrder, FollowsSeedAndEpochAlone) {
  const auto samples = all_samples(1000);
  const auto order = epoch_order(samples, 1, 0);
  EXPECT_EQ(order, epoch_order(samples, 1, 0));
  EXPECT_NE(order, samples);
  EXPECT_NE(order, epoch_order(samples, 1, 1));
  EXPECT_NE(order, epoch_order(samples, 2, 0));
}

// Over many epochs every sample comes about equally often into the first tenth.
TEST(EpochOrder, IsUniform) {
  const auto samples = all_samples(50);
  std::vector<int> early(50);
  constexpr int kEpochs = 4000;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const auto order = epoch_order(samples, 3, epoch);
    for (int i = 0; i < 5; ++i) ++early[order[i]];
  }
  // Expected 400, standard deviation 19.
  for (const int count : early) EXPECT_NEAR(count, kEpochs / 10, 100);
}

TEST(Holdout, TakesTheFractionOfEveryClass) {
  const Tensor labels = cyclic_labels(1000, 10);
  const Holdout holdout = stratified_holdout(labels, 0.1, 5);
  EXPECT_EQ(holdout.validation.size(), 100u);
  EXPECT_EQ(holdout.train.size(), 900u);
  std::vector<int> per_class(10);
  for (const std::uint32_t sample : holdout.validation) ++per_class[labels.data<std::uint8_t>()[sample]];
  EXPECT_EQ(per_class, std::vector<int>(10, 10));
  EXPECT_TRUE(std::ranges::is_sorted(holdout.train));
  EXPECT_TRUE(std::ranges::is_sorted(holdout.validation));
  std::vector<std::uint32_t> both = holdout.train;
  both.insert(both.end(), holdout.validation.begin(), holdout.validation.end());
  EXPECT_EQ(sorted(both), all_samples(1000));
}

TEST(Holdout, FollowsTheSeed) {
  const Tensor labels = cyclic_labels(1000, 10);
  EXPECT_EQ(stratified_holdout(labels, 0.1, 5).validation, stratified_holdout(labels, 0.1, 5).validation);
  EXPECT_NE(stratified_holdout(labels, 0.1, 5).validation, stratified_holdout(labels, 0.1, 6).validation);
}

TEST(Holdout, RoundsByClassAndNeverTakesAllOfOne) {
  // Class 0 four times, class 1 five times, class 200 once.
  const Tensor labels = labels_of({0, 0, 0, 0, 1, 1, 1, 1, 1, 200});
  const Holdout holdout = stratified_holdout(labels, 0.3, 1);
  int zeros = 0, ones = 0;
  for (const std::uint32_t sample : holdout.validation) ++(sample < 4 ? zeros : ones);
  EXPECT_EQ(zeros, 1);  // 1.2
  EXPECT_EQ(ones, 2);   // 1.5
  EXPECT_EQ(stratified_holdout(labels, 0.99, 1).train.size(), 3u);
}

TEST(Holdout, OfNothingAndOutOfRange) {
  const Tensor labels = cyclic_labels(100, 10);
  EXPECT_TRUE(stratified_holdout(labels, 0, 1).validation.empty());
  EXPECT_EQ(stratified_holdout(labels, 0, 1).train, all_samples(100));
  expect_error(ErrorCode::usage, "holds out none", [&] { stratified_holdout(labels, 0.01, 1); });
  for (const double fraction : {-0.1, 1.0, 1.5, std::nan("")})
    expect_error(ErrorCode::usage, "validation fraction", [&] { stratified_holdout(labels, fraction, 1); });
}

TEST(ShardRange, PartsAreContiguousAndNearlyEqual) {
  for (std::int64_t batch = 0; batch < 20; ++batch) {
    for (std::int64_t shards = 1; shards < 9; ++shards) {
      std::int64_t next = 0;
      for (std::int64_t shard = 0; shard < shards; ++shard) {
        const Range range = shard_range(batch, shards, shard);
        EXPECT_EQ(range.begin, next);
        EXPECT_EQ(range.size(), batch / shards + (shard < batch % shards ? 1 : 0));
        next = range.end;
      }
      EXPECT_EQ(next, batch);
    }
  }
}

TEST(StepsPerEpoch, KeepsTheLastBatch) {
  EXPECT_EQ(steps_per_epoch(60000, 128), 469);
  EXPECT_EQ(steps_per_epoch(128, 128), 1);
  EXPECT_EQ(steps_per_epoch(129, 128), 2);
  EXPECT_EQ(steps_per_epoch(1, 1), 1);
  expect_error(ErrorCode::usage, "at most the 10 samples there are, found 11", [] { steps_per_epoch(10, 11); });
  expect_error(ErrorCode::usage, "at least 1, found 0", [] { steps_per_epoch(10, 0); });
  expect_error(ErrorCode::usage, "at least 1, found -5", [] { steps_per_epoch(10, -5); });
}

}  // namespace
}  // namespace lockring::data
