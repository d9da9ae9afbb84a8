#include "core/cuda/launch.h"
#include "ops/cuda/pool_functor.h"
#include "ops/max_pool2d_kernel.h"

namespace lockring::kernels::cuda {

using lockring::cuda::elements;
using lockring::cuda::for_each_index;
using lockring::cuda::with_pack_size;
using lockring::cuda::with_type;

void max_pool(const PoolShape& shape, ConstReals x, Reals y, std::uint8_t* source) {
  with_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    with_pack_size<T>(
        shape.channels,
        [&](auto size) {
          for_each_index(shape.output().elements() / size,
                         MaxPool<T, size>{shape, elements<T>(x), elements<T>(y), source});
        },
        elements<T>(x), elements<T>(y), source);
  });
}

void max_pool_gradient(const PoolShape& shape, ConstReals dy, const std::uint8_t* source, Reals dx) {
  with_type(dy.dtype, [&](auto type) {
    using T = decltype(type);
    with_pack_size<T>(
        shape.channels,
        [&](auto size) {
          for_each_index(shape.input().elements() / size,
                         MaxPoolGradient<T, size>{shape, elements<T>(dy), source, elements<T>(dx)});
        },
        elements<T>(dy), elements<T>(dx), source);
  });
}

}  // namespace lockring::kernels::cuda
