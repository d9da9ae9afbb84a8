// Which samples a step takes, and who takes them. Everything follows from (seed, epoch) and positions, so there is no
// state to keep and nothing depends on the number of replicas.
#pragma once

#include "core/tensor.h"

#include <cstdint>
#include <span>
#include <vector>

namespace lockring::data {

// The samples in the order of one epoch: one permutation of all of them. Step t of batch size B takes the positions
// [tB, (t+1)B) of it.
std::vector<std::uint32_t> epoch_order(std::span<const std::uint32_t> samples, std::uint64_t seed, std::int64_t epoch);

// 0, 1, ..., n-1
std::vector<std::uint32_t> all_samples(std::int64_t n);

struct Holdout {
  std::vector<std::uint32_t> train;  // both ascending, together all samples
  std::vector<std::uint32_t> validation;
};

// Holds out `fraction` of every class, rounded to the nearest number of samples (halves up) but never all of a class.
// Fraction 0 holds out none. Labels: u8 [n]. Throws Error{usage} on a fraction outside [0, 1) and on one above 0 that
// is too small to hold out anything.
Holdout stratified_holdout(const Tensor& labels, double fraction, std::uint64_t seed);

// Positions [begin, end).
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  bool operator==(const Range&) const = default;
};

// The part of a batch that belongs to `shard`: contiguous parts in order, sizes differ by at most one, the larger ones
// first. A part is empty when the batch has fewer samples than shards.
Range shard_range(std::int64_t batch, std::int64_t shards, std::int64_t shard);

// Steps that take all n samples once: the last batch is kept though it may be smaller, down to one sample. Throws
// Error{usage} if the batch is not within 1 and n.
std::int64_t steps_per_epoch(std::int64_t n, std::int64_t batch);

}  // namespace lockring::data
