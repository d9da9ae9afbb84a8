#include "ops/cuda/elementwise_functor.h"
#include "ops/elementwise_kernel.h"

namespace lockring::kernels::cuda {

using lockring::cuda::map;

void relu(ConstReals x, std::int64_t count, Reals y) { map(count, y, Relu{}, x); }
void gelu(ConstReals x, std::int64_t count, Reals y) { map(count, y, Gelu{}, x); }
void gelu_gradient(ConstReals x, ConstReals dy, std::int64_t count, Reals dx) { map(count, dx, GeluGradient{}, x, dy); }
void silu(ConstReals x, std::int64_t count, Reals y) { map(count, y, Silu{}, x); }
void silu_gradient(ConstReals x, ConstReals dy, std::int64_t count, Reals dx) { map(count, dx, SiluGradient{}, x, dy); }
void add(ConstReals a, ConstReals b, std::int64_t count, Reals y) { map(count, y, Add{}, a, b); }

}  // namespace lockring::kernels::cuda
