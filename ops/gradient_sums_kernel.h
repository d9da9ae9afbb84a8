// Sums of gradient buffers in a fixed order: over shards, element by element, and of squares.
#pragma once

#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

// out[i] = sum of shards[s][i] over s, for i in [begin, end), as a fixed binary tree: adjacent pairs are added, then
// pairs of those, ...; an odd one passes up. `out` may be one of the shards. At least one shard.
using TreeSumFn = void(const float* const* shards, int count, std::int64_t begin, std::int64_t end, float* out);

// *sum = the sum of squares in double precision, in 16 interleaved partial sums; count is a multiple of 16. Not finite
// if and only if one of the values is not.
using SquareSumFn = void(const float* values, std::int64_t count, double* sum);

LOCKRING_DECLARE_SIMD_KERNEL(TreeSumFn, tree_sum)
LOCKRING_DECLARE_SIMD_KERNEL(SquareSumFn, square_sum)

constexpr Kernel<TreeSumFn> kTreeSum{"tree_sum", LOCKRING_SIMD_KERNELS(tree_sum),
                                     LOCKRING_CUDA_KERNEL(kernels::cuda::tree_sum)};
constexpr Kernel<SquareSumFn> kSquareSum{"square_sum", LOCKRING_SIMD_KERNELS(square_sum),
                                         LOCKRING_CUDA_KERNEL(kernels::cuda::square_sum)};

}  // namespace lockring
