#include "core/cuda/launch.h"
#include "ops/cuda/rows_functor.h"
#include "ops/cuda/sums.h"
#include "ops/rows_kernel.h"

namespace lockring::kernels::cuda {

using lockring::cuda::for_each_index;

void bias_activation(float* y, std::int64_t rows, std::int64_t channels, const float* bias, Activation activation) {
  if (bias == nullptr && activation == Activation::none) return;
  for_each_index(rows * channels, BiasActivation{y, channels, bias, activation == Activation::relu});
}

void relu_gradient(const float* y, const float* dy, std::int64_t count, float* dz) {
  for_each_index(count, ReluGradient{y, dy, dz});
}

void sum_rows(const float* dy, std::int64_t rows, std::int64_t channels, bool accumulate, float* sums) {
  column_sums(rows, channels, RowValue{dy, channels}, StoreSums{sums, accumulate});
}

}  // namespace lockring::kernels::cuda
