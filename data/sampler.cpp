#include "data/sampler.h"

#include "core/error.h"
#include "core/rng.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numeric>

namespace lockring::data {

// Drawing anew from (seed, epoch) costs a millisecond for 60,000 samples; a run that resumes has nothing to restore.
std::vector<std::uint32_t> epoch_order(std::span<const std::uint32_t> samples, std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::uint32_t> order(samples.begin(), samples.end());
  Rng rng(seed, RngStream::shuffle, static_cast<std::uint64_t>(epoch));
  shuffle(order, rng);
  return order;
}

std::vector<std::uint32_t> all_samples(std::int64_t n) {
  std::vector<std::uint32_t> samples(static_cast<std::size_t>(n));
  std::iota(samples.begin(), samples.end(), 0u);
  return samples;
}

// Each class has a stream of its own, so that what is drawn from one does not depend on the sizes of the others.
Holdout stratified_holdout(const Tensor& labels, double fraction, std::uint64_t seed) {
  check(fraction >= 0 && fraction < 1, "validation fraction: expected at least 0 and below 1, found {}", fraction);
  std::array<std::vector<std::uint32_t>, 256> by_class;
  for (std::uint32_t i = 0; const std::uint8_t label : labels.values<std::uint8_t>()) by_class[label].push_back(i++);
  Holdout holdout;
  for (std::size_t label = 0; label < by_class.size(); ++label) {
    std::vector<std::uint32_t>& samples = by_class[label];
    if (samples.empty()) continue;
    const auto wanted = static_cast<std::size_t>(std::floor(fraction * static_cast<double>(samples.size()) + 0.5));
    const auto count = static_cast<std::ptrdiff_t>(std::min(wanted, samples.size() - 1));
    Rng rng(seed, RngStream::split, label);
    shuffle(samples, rng);
    holdout.validation.insert(holdout.validation.end(), samples.begin(), samples.begin() + count);
    holdout.train.insert(holdout.train.end(), samples.begin() + count, samples.end());
  }
  check(fraction == 0 || !holdout.validation.empty(),
        "validation fraction {} of {} samples holds out none: expected a larger one, or 0", fraction,
        labels.elements());
  std::ranges::sort(holdout.train);
  std::ranges::sort(holdout.validation);
  return holdout;
}

// The first `larger_ones` parts have one more than the others.
Range shard_range(std::int64_t batch, std::int64_t shards, std::int64_t shard) {
  assert(batch >= 0 && shard >= 0 && shard < shards);
  const std::int64_t smaller = batch / shards;
  const std::int64_t larger_ones = batch % shards;
  const std::int64_t begin = shard * smaller + std::min(shard, larger_ones);
  return {begin, begin + smaller + (shard < larger_ones ? 1 : 0)};
}

std::int64_t steps_per_epoch(std::int64_t n, std::int64_t batch) {
  check(batch >= 1, "batch size: expected at least 1, found {}", batch);
  check(batch <= n, "batch size: expected at most the {} samples there are, found {}", n, batch);
  return (n + batch - 1) / batch;
}

}  // namespace lockring::data
