#include "core/cuda/launch.h"
#include "ops/avg_pool2d_kernel.h"
#include "ops/cuda/pool_functor.h"

namespace lockring::kernels::cuda {

using lockring::cuda::elements;
using lockring::cuda::for_each_index;
using lockring::cuda::with_pack_size;
using lockring::cuda::with_type;

void avg_pool(const PoolShape& shape, ConstReals x, Reals y) {
  with_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    with_pack_size<T>(
        shape.channels,
        [&](auto size) {
          for_each_index(shape.output().elements() / size, AvgPool<T, size>{shape, elements<T>(x), elements<T>(y)});
        },
        elements<T>(x), elements<T>(y));
  });
}

void avg_pool_gradient(const PoolShape& shape, ConstReals dy, Reals dx) {
  with_type(dy.dtype, [&](auto type) {
    using T = decltype(type);
    with_pack_size<T>(
        shape.channels,
        [&](auto size) {
          for_each_index(shape.input().elements() / size,
                         AvgPoolGradient<T, size>{shape, elements<T>(dy), elements<T>(dx)});
        },
        elements<T>(dy), elements<T>(dx));
  });
}

}  // namespace lockring::kernels::cuda
