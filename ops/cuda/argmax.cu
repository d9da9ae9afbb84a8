#include "ops/argmax_kernel.h"
#include "ops/cuda/argmax_functor.h"
#include "ops/cuda/sums.h"

namespace lockring::kernels::cuda {

void argmax(const float* scores, std::int64_t rows, std::int64_t channels, std::int32_t* index) {
  lockring::cuda::for_each_index(rows, Argmax{scores, channels, index});
}

void count_correct(const float* scores, const std::int32_t* labels, std::int64_t rows, std::int64_t channels,
                   std::int64_t* correct) {
  total_sum(rows, IsCorrect{scores, labels, channels}, StoreCount{correct});
}

}  // namespace lockring::kernels::cuda
