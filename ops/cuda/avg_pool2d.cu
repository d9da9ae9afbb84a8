#include "ops/avg_pool2d_kernel.h"
#include "ops/cuda/pool_functor.h"

namespace lockring::kernels::cuda {

using lockring::cuda::for_each_pack;

void avg_pool(const PoolShape& shape, ConstReals x, Reals y) {
  for_each_pack<AvgPool>(x.dtype, shape.output().elements(), shape.channels, shape, x, y);
}

void avg_pool_gradient(const PoolShape& shape, ConstReals dy, Reals dx) {
  for_each_pack<AvgPoolGradient>(dy.dtype, shape.input().elements(), shape.channels, shape, dy, dx);
}

}  // namespace lockring::kernels::cuda
