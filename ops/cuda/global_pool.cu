#include "core/cuda/launch.h"
#include "ops/cuda/global_pool_functor.h"

namespace lockring::kernels::cuda {

using lockring::cuda::elements;
using lockring::cuda::for_each_index;
using lockring::cuda::with_pack_size;
using lockring::cuda::with_type;

void global_max_pool(const GlobalPoolShape& s, ConstReals x, Reals y, std::int32_t* source) {
  with_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    with_pack_size<T>(
        s.channels,
        [&](auto size) {
          for_each_index(s.images * s.channels / size,
                         GlobalMaxPool<T, size>{s, elements<T>(x), elements<T>(y), source});
        },
        elements<T>(x), elements<T>(y), source);
  });
}

void global_max_pool_gradient(const GlobalPoolShape& s, ConstReals dy, const std::int32_t* source, Reals dx) {
  with_type(dy.dtype, [&](auto type) {
    using T = decltype(type);
    with_pack_size<T>(
        s.channels,
        [&](auto size) {
          for_each_index(s.images * s.pixels * s.channels / size,
                         GlobalMaxPoolGradient<T, size>{s, elements<T>(dy), source, elements<T>(dx)});
        },
        elements<T>(dy), source, elements<T>(dx));
  });
}

void global_avg_pool(const GlobalPoolShape& s, ConstReals x, Reals y) {
  with_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    with_pack_size<T>(
        s.channels,
        [&](auto size) {
          for_each_index(s.images * s.channels / size, GlobalAvgPool<T, size>{s, elements<T>(x), elements<T>(y)});
        },
        elements<T>(x), elements<T>(y));
  });
}

void global_avg_pool_gradient(const GlobalPoolShape& s, ConstReals dy, Reals dx) {
  with_type(dy.dtype, [&](auto type) {
    using T = decltype(type);
    with_pack_size<T>(
        s.channels,
        [&](auto size) {
          for_each_index(s.images * s.pixels * s.channels / size,
                         GlobalAvgPoolGradient<T, size>{s, elements<T>(dy), elements<T>(dx)});
        },
        elements<T>(dy), elements<T>(dx));
  });
}

}  // namespace lockring::kernels::cuda
