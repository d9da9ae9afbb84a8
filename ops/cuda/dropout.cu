#include "ops/dropout_kernel.h"

#include "core/cuda/launch.h"
#include "ops/cuda/dropout_functor.h"

namespace lockring::kernels::cuda {

void dropout(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t first_sample, std::uint64_t key,
             std::uint32_t threshold, float scale, float* y) {
  const std::int64_t blocks = (columns + 3) / 4;
  lockring::cuda::for_each_index(rows * blocks, Dropout{x, columns, blocks, first_sample, key, threshold, scale, y});
}

}  // namespace lockring::kernels::cuda
