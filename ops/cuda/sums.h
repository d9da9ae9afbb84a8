// Launches the functors of sums_functor.h.
#pragma once

#include "core/cuda/allocator.h"
#include "core/cuda/launch.h"
#include "ops/cuda/sums_functor.h"

#include <algorithm>
#include <cstdint>

namespace lockring::kernels::cuda {

// finish(channel, sum over the rows of value(row, channel)), for each channel; a sum of no rows is 0.
template <class Value, class Finish>
void column_sums(std::int64_t rows, std::int64_t channels, const Value& value, const Finish& finish) {
  constexpr std::int64_t kLeastChunk = 32;
  constexpr std::int64_t kMostChunks = 256;
  if (channels == 0) return;
  const std::int64_t chunk = std::max(kLeastChunk, (rows + kMostChunks - 1) / kMostChunks);
  const std::int64_t chunks = std::max<std::int64_t>((rows + chunk - 1) / chunk, 1);
  const lockring::cuda::Scratch partial(chunks * channels * static_cast<std::int64_t>(sizeof(double)));
  lockring::cuda::for_each_index(chunks * channels,
                                 ChunkSums<Value>{value, rows, channels, chunk, partial.data<double>()});
  lockring::cuda::for_each_index(channels, FinishColumns<Finish>{partial.data<double>(), chunks, channels, finish});
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
