#include "core/cuda/launch.h"
#include "ops/cuda/global_pool_functor.h"

namespace lockring::kernels::cuda {

using lockring::cuda::for_each_index;

void global_max_pool(const GlobalPoolShape& s, const float* x, float* y, std::int32_t* source) {
  for_each_index(s.images * s.channels, GlobalMaxPool{s, x, y, source});
}

void global_max_pool_gradient(const GlobalPoolShape& s, const float* dy, const std::int32_t* source, float* dx) {
  for_each_index(s.images * s.pixels * s.channels, GlobalMaxPoolGradient{s, dy, source, dx});
}

void global_avg_pool(const GlobalPoolShape& s, const float* x, float* y) {
  for_each_index(s.images * s.channels, GlobalAvgPool{s, x, y});
}

void global_avg_pool_gradient(const GlobalPoolShape& s, const float* dy, float* dx) {
  for_each_index(s.images * s.pixels * s.channels, GlobalAvgPoolGradient{s, dy, dx});
}

}  // namespace lockring::kernels::cuda
