#include "ops/cuda/rows_functor.h"
#include "ops/cuda/sums.h"
#include "ops/rows_kernel.h"

namespace lockring::kernels::cuda {

void bias_activation(Reals y, std::int64_t rows, std::int64_t channels, const float* bias, Activation activation) {
  if (bias == nullptr && activation == Activation::none) return;
  lockring::cuda::map_rows(rows, channels, y, BiasActivation{bias, activation == Activation::relu}, y);
}

void relu_gradient(ConstReals y, ConstReals dy, std::int64_t count, Reals dz) {
  lockring::cuda::map(count, dz, ReluGradient{}, y, dy);
}

void sum_rows(ConstReals dy, std::int64_t rows, std::int64_t channels, bool accumulate, float* sums) {
  lockring::cuda::with_type(dy.dtype, [&](auto type) {
    using T = decltype(type);
    column_sums(rows, channels, RowValue<T>{lockring::cuda::elements<T>(dy), channels}, StoreSums{sums, accumulate});
  });
}

}  // namespace lockring::kernels::cuda
