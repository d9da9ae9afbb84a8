// Launches the functors of sums_functor.h.
#pragma once

#include "core/cuda/allocator.h"
#include "core/cuda/launch.h"
#include "ops/cuda/sums_functor.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace lockring::kernels::cuda {

// Of the longest group, which is the last; at least one, so that a sum of nothing is made too.
inline std::int64_t chunks_of(const RowGroups& groups, std::int64_t chunk) {
  const std::int64_t longest = groups.end(groups.groups - 1) - groups.begin(groups.groups - 1);
  return std::max<std::int64_t>((longest + chunk - 1) / chunk, 1);
}

// partial [groups][chunks][channels] = the sums over chunks of rows.
template <class Sum, class Value>
void chunk_sums(const RowGroups& groups, std::int64_t channels, std::int64_t chunk, const Value& value, Sum* partial) {
  const std::int64_t chunks = chunks_of(groups, chunk);
  lockring::cuda::for_each_index(groups.groups * chunks * channels,
                                 ChunkSums<Value, Sum>{value, groups, channels, chunks, chunk, partial});
}

// finish(group, channel, sum over the group's rows of value(row, channel)); a sum of no rows is 0.
// So many chunks that a GPU is busy, added up in two steps if they are many.
template <class Value, class Finish>
void column_sums(const RowGroups& groups, std::int64_t channels, const Value& value, const Finish& finish) {
  using Sum = SumOf<Value>;
  constexpr std::int64_t kLeastChunk = 32;
  constexpr std::int64_t kThreads = std::int64_t{1} << 17;
  constexpr std::int64_t kMostAtOnce = 64;
  if (channels == 0) return;
  const std::int64_t columns = groups.groups * channels;
  const std::int64_t chunk = std::max(kLeastChunk, groups.rows * channels / kThreads);
  std::int64_t chunks = chunks_of(groups, chunk);
  const auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(chunks)));
  const lockring::cuda::Scratch memory((chunks + chunks / root + 1) * columns * static_cast<std::int64_t>(sizeof(Sum)));
  auto* partial = memory.data<Sum>();
  chunk_sums(groups, channels, chunk, value, partial);
  if (chunks > kMostAtOnce) {
    const RowGroups parts{groups.groups * chunks, chunks, groups.groups};
    Sum* fewer = partial + chunks * columns;
    chunk_sums(parts, channels, root, PartialRow<Sum>{partial, channels}, fewer);
    chunks = chunks_of(parts, root);
    partial = fewer;
  }
  lockring::cuda::for_each_index(columns, FinishColumns<Finish, Sum>{partial, chunks, channels, finish});
}

// The same over all rows, with group 0.
template <class Value, class Finish>
void column_sums(std::int64_t rows, std::int64_t channels, const Value& value, const Finish& finish) {
  column_sums(RowGroups{rows, rows, 1}, channels, value, finish);
}

// finish(sum of value(i) over i in [0, count)).
template <class Value, class Finish>
void total_sum(std::int64_t count, const Value& value, const Finish& finish) {
  constexpr std::int64_t kLanes = 4096;
  constexpr std::int64_t kLast = 64;
  const std::int64_t lanes = std::clamp<std::int64_t>(count / 16, 1, kLanes);
  const lockring::cuda::Scratch partial((lanes + kLast) * static_cast<std::int64_t>(sizeof(double)));
  auto* sums = partial.data<double>();
  lockring::cuda::for_each_index(lanes, LaneSums<Value>{value, count, lanes, sums});
  if (lanes <= kLast) return lockring::cuda::for_each_index(1, FinishTotal<Finish>{sums, lanes, finish});
  lockring::cuda::for_each_index(kLast, LaneSums<Partial>{Partial{sums}, lanes, kLast, sums + lanes});
  lockring::cuda::for_each_index(1, FinishTotal<Finish>{sums + lanes, kLast, finish});
}

}  // namespace lockring::kernels::cuda
