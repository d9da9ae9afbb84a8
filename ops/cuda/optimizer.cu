#include "ops/optimizer_kernel.h"

#include "core/cuda/launch.h"
#include "ops/cuda/optimizer_functor.h"

namespace lockring::kernels::cuda {

using lockring::cuda::for_each_index;

void sgd(const SgdRule& rule, std::int64_t count, const float* gradient, float* velocity, float* parameters) {
  for_each_index(count, Sgd{rule, gradient, velocity, parameters});
}

void adam(const AdamRule& rule, std::int64_t count, const float* gradient, float* m, float* v, float* parameters) {
  for_each_index(count, Adam{rule, gradient, m, v, parameters});
}

void moving_average(std::int64_t count, const float* values, float scale, float rate, float* averages) {
  for_each_index(count, MovingAverage{values, scale, rate, averages});
}

}  // namespace lockring::kernels::cuda
