// How a shard is cut.
#pragma once

#include "data/sampler.h"

#include <algorithm>
#include <cstdint>

namespace lockring::app {

// Micro-batches of a shard, in order; a remainder joins the last.
template <class F>
void for_each_micro_batch(data::Range shard, std::int64_t micro_batch, F f) {
  const std::int64_t size = micro_batch > 0 ? micro_batch : std::max<std::int64_t>(shard.size(), 1);
  for (std::int64_t begin = shard.begin; begin < shard.end;) {
    const bool last = shard.end - begin - size < size;
    const std::int64_t end = last ? shard.end : begin + size;
    f(data::Range{begin, end});
    begin = end;
  }
}

}  // namespace lockring::app
