#include "core/cuda/launch.h"
#include "ops/cuda/global_pool_functor.h"

namespace lockring::kernels::cuda {

using lockring::cuda::elements;
using lockring::cuda::for_each_index;
using lockring::cuda::with_type;

void global_max_pool(const GlobalPoolShape& s, ConstReals x, Reals y, std::int32_t* source) {
  with_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    for_each_index(s.images * s.channels, GlobalMaxPool<T>{s, elements<T>(x), elements<T>(y), source});
  });
}

void global_max_pool_gradient(const GlobalPoolShape& s, ConstReals dy, const std::int32_t* source, Reals dx) {
  with_type(dy.dtype, [&](auto type) {
    using T = decltype(type);
    for_each_index(s.images * s.pixels * s.channels,
                   GlobalMaxPoolGradient<T>{s, elements<T>(dy), source, elements<T>(dx)});
  });
}

void global_avg_pool(const GlobalPoolShape& s, ConstReals x, Reals y) {
  with_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    for_each_index(s.images * s.channels, GlobalAvgPool<T>{s, elements<T>(x), elements<T>(y)});
  });
}

void global_avg_pool_gradient(const GlobalPoolShape& s, ConstReals dy, Reals dx) {
  with_type(dy.dtype, [&](auto type) {
    using T = decltype(type);
    for_each_index(s.images * s.pixels * s.channels, GlobalAvgPoolGradient<T>{s, elements<T>(dy), elements<T>(dx)});
  });
}

}  // namespace lockring::kernels::cuda
