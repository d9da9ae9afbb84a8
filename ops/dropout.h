// y = x / (1 - p) where an element is kept, 0 where it is dropped, each with probability p (Srivastava et al., JMLR
// 2014; the "inverted" form, so evaluation does nothing).
//
// Which elements depends on their names alone: element j of sample i is decided by word j % 4 of the Philox block
// {j / 4, 0, i, i >> 32} under a key drawn from (seed, step, layer). Replicas, shards and micro-batches change nothing.
#pragma once

#include "core/tensor.h"

#include <cstdint>

namespace lockring::ops {

struct DropoutKey {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  std::uint32_t layer = 0;
  std::int64_t first_sample = 0;                 // the number of x's first row within the global batch
  const std::int64_t* step_in_memory = nullptr;  // of x's GPU: if set, the step is what lies there when it runs
};

// x [n][...]. Differentiable in x; the gradient draws the same words again instead of keeping a mask.
// With p = 0 the result is x. Throws Error{usage} unless p is in [0, 1) and x has rows.
Tensor dropout(const Tensor& x, float probability, const DropoutKey& key);

}  // namespace lockring::ops
