#include "core/cuda/launch.h"
#include "ops/cuda/pool_functor.h"
#include "ops/max_pool2d_kernel.h"

namespace lockring::kernels::cuda {

void max_pool(const PoolShape& shape, const float* x, float* y, std::uint8_t* source) {
  lockring::cuda::for_each_index(shape.output().elements(), MaxPool{shape, x, y, source});
}

void max_pool_gradient(const PoolShape& shape, const float* dy, const std::uint8_t* source, float* dx) {
  lockring::cuda::for_each_index(shape.input().elements(), MaxPoolGradient{shape, dy, source, dx});
}

}  // namespace lockring::kernels::cuda
