#include "ops/cuda/pool_functor.h"
#include "ops/max_pool2d_kernel.h"

namespace lockring::kernels::cuda {

using lockring::cuda::for_each_pack;

void max_pool(const PoolShape& shape, ConstReals x, Reals y, std::uint8_t* source) {
  for_each_pack<MaxPool>(x.dtype, shape.output().elements(), shape.channels, shape, x, y, source);
}

void max_pool_gradient(const PoolShape& shape, ConstReals dy, const std::uint8_t* source, Reals dx) {
  for_each_pack<MaxPoolGradient>(dy.dtype, shape.input().elements(), shape.channels, shape, dy, source, dx);
}

}  // namespace lockring::kernels::cuda
