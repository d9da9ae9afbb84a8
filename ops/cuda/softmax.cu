#include "ops/softmax_kernel.h"

#include "core/cuda/launch.h"
#include "ops/cuda/softmax_functor.h"

namespace lockring::kernels::cuda {

void softmax(const float* x, std::int64_t rows, std::int64_t channels, float* y) {
  lockring::cuda::for_each_index(rows, Softmax{x, channels, y});
}

void softmax_gradient(const float* y, const float* dy, std::int64_t rows, std::int64_t channels, float* dx) {
  lockring::cuda::for_each_index(rows, SoftmaxGradient{y, dy, channels, dx});
}

}  // namespace lockring::kernels::cuda
