// Ranges of the gradient arena that travel together.
#pragma once

#include "distributed/slice.h"

#include <cstdint>
#include <span>
#include <vector>

namespace lockring::dist {

// More would run out of channels.
constexpr int kMostBuckets = 512;
// The usual least bytes: early enough for small models to overlap, and long enough for the wire to be what takes the
// time.
constexpr std::int64_t kBucketBytes = std::int64_t{128} << 10;

// Cuts an arena into buckets of at least `bucket_bytes` each, but for the last; in the order in which a backward pass
// completes them, from the arena's end. `segments` are the arena's tensors with their padding, in order and without
// gaps; none is cut. 0 bytes: one bucket. Throws Error{usage} if bucket_bytes is negative.
std::vector<Slice> cut_buckets(std::span<const Slice> segments, std::int64_t bucket_bytes);
// The bucket of these that holds an element of the arena.
std::size_t bucket_at(std::span<const Slice> buckets, std::int64_t offset);

}  // namespace lockring::dist
