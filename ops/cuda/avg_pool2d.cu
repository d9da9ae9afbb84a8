#include "core/cuda/launch.h"
#include "ops/avg_pool2d_kernel.h"
#include "ops/cuda/pool_functor.h"

namespace lockring::kernels::cuda {

void avg_pool(const PoolShape& shape, const float* x, float* y) {
  lockring::cuda::for_each_index(shape.output().elements(), AvgPool{shape, x, y});
}

void avg_pool_gradient(const PoolShape& shape, const float* dy, float* dx) {
  lockring::cuda::for_each_index(shape.input().elements(), AvgPoolGradient{shape, dy, dx});
}

}  // namespace lockring::kernels::cuda
