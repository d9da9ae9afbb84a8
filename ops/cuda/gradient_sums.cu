#include "ops/gradient_sums_kernel.h"

#include "core/error.h"
#include "ops/cuda/gradient_sums_functor.h"
#include "ops/cuda/sums.h"

#include <algorithm>

namespace lockring::kernels::cuda {

void tree_sum(const float* const* shards, int count, std::int64_t begin, std::int64_t end, float* out) {
  check(count <= kMostShards, ErrorCode::device, "a GPU sums at most {} shards, not {}", kMostShards, count);
  TreeSum sum{};
  std::copy_n(shards, count, sum.shards);
  sum.count = count;
  sum.begin = begin;
  sum.out = out;
  lockring::cuda::for_each_index(end - begin, sum);
}

void square_sum(const float* values, std::int64_t count, double* sum) {
  total_sum(count, Square{values}, StoreDouble{sum});
}

}  // namespace lockring::kernels::cuda
