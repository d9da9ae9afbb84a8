#include "ops/gradient_sums_kernel.h"

#include "ops/cpu/simd/simd.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {
namespace {

// Partial sums of a block, of all levels of the tree, stay in the L1 cache.
constexpr std::int64_t kBlock = 512;

// The tree's sum of `length` elements of `count` shards: in `sum`, or where the one shard is.
const float* sum_block(const float* const* shards, int count, std::int64_t begin, std::int64_t length,
                       float* __restrict sum) {
  if (count == 1) return shards[0] + begin;
  int left_count = 1;  // the largest power of two below count: what pairing up leads to
  while (2 * left_count < count) left_count *= 2;
  float left_sum[kBlock];
  float right_sum[kBlock];
  const float* left = sum_block(shards, left_count, begin, length, left_sum);
  const float* right = sum_block(shards + left_count, count - left_count, begin, length, right_sum);
  for (std::int64_t i = 0; i < length; ++i) sum[i] = left[i] + right[i];
  return sum;
}

}  // namespace

void tree_sum(const float* const* shards, int count, std::int64_t begin, std::int64_t end, float* out) {
  for (std::int64_t first = begin; first < end; first += kBlock) {
    const std::int64_t length = end - first < kBlock ? end - first : kBlock;
    float scratch[kBlock];  // not `out`, which may be one of the shards
    const float* sum = sum_block(shards, count, first, length, scratch);
    __builtin_memmove(out + first, sum, length * sizeof(float));
  }
}

void square_sum(const float* values, std::int64_t count, double* sum) {
  constexpr int kLanes = 16;
  double sums[kLanes] = {};
  for (std::int64_t i = 0; i < count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      sums[lane] += value * value;
    }
  }
  double total = 0;
  for (const double part : sums) total += part;
  *sum = total;
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
