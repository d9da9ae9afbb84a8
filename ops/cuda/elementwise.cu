#include "core/cuda/launch.h"
#include "ops/cuda/elementwise_functor.h"
#include "ops/elementwise_kernel.h"

namespace lockring::kernels::cuda {

using lockring::cuda::for_each_index;

void relu(const float* x, std::int64_t count, float* y) { for_each_index(count, Relu{x, y}); }
void gelu(const float* x, std::int64_t count, float* y) { for_each_index(count, Gelu{x, y}); }
void gelu_gradient(const float* x, const float* dy, std::int64_t count, float* dx) {
  for_each_index(count, GeluGradient{x, dy, dx});
}
void silu(const float* x, std::int64_t count, float* y) { for_each_index(count, Silu{x, y}); }
void silu_gradient(const float* x, const float* dy, std::int64_t count, float* dx) {
  for_each_index(count, SiluGradient{x, dy, dx});
}
void add(const float* a, const float* b, std::int64_t count, float* y) { for_each_index(count, Add{a, b, y}); }

}  // namespace lockring::kernels::cuda
