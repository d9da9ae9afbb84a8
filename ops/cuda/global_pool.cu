#include "ops/cuda/global_pool_functor.h"

namespace lockring::kernels::cuda {

using lockring::cuda::for_each_pack;

void global_max_pool(const GlobalPoolShape& s, ConstReals x, Reals y, std::int32_t* source) {
  for_each_pack<GlobalMaxPool>(x.dtype, s.images * s.channels, s.channels, s, x, y, source);
}

void global_max_pool_gradient(const GlobalPoolShape& s, ConstReals dy, const std::int32_t* source, Reals dx) {
  for_each_pack<GlobalMaxPoolGradient>(dy.dtype, s.images * s.pixels * s.channels, s.channels, s, dy, source, dx);
}

void global_avg_pool(const GlobalPoolShape& s, ConstReals x, Reals y) {
  for_each_pack<GlobalAvgPool>(x.dtype, s.images * s.channels, s.channels, s, x, y);
}

void global_avg_pool_gradient(const GlobalPoolShape& s, ConstReals dy, Reals dx) {
  for_each_pack<GlobalAvgPoolGradient>(dy.dtype, s.images * s.pixels * s.channels, s.channels, s, dy, dx);
}

}  // namespace lockring::kernels::cuda
