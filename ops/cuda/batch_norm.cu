#include "ops/batch_norm_kernel.h"
#include "ops/cuda/batch_norm_functor.h"
#include "ops/cuda/rows_functor.h"
#include "ops/cuda/sums.h"

namespace lockring::kernels::cuda {

using lockring::cuda::for_each_index;

void batch_norm_moments(const BatchNormShape& shape, const float* x, float* mean, float* variance) {
  const std::int64_t rows = shape.images * shape.pixels;
  const auto values = static_cast<double>(rows);
  column_sums(rows, shape.channels, RowValue{x, shape.channels}, StoreMean{mean, values});
  column_sums(rows, shape.channels, SquareAboutMean{x, mean, shape.channels}, StoreMean{variance, values});
}

void batch_norm_apply(const BatchNormShape& shape, const float* x, const BatchNormTerms& terms, float* y) {
  for_each_index(shape.images * shape.pixels * shape.channels, BatchNormApply{Normalised{terms}, x, shape.channels, y});
}

void batch_norm_sums(const BatchNormShape& shape, const float* x, const float* dy, const BatchNormTerms& terms,
                     float* dgamma, float* dbeta) {
  const std::int64_t rows = shape.images * shape.pixels;
  const GradientOfZ gradient{Normalised{terms}, x, dy, shape.channels};
  column_sums(rows, shape.channels, CentredGradient{gradient}, StoreGammaGradient{Normalised{terms}, dgamma});
  column_sums(rows, shape.channels, gradient, StoreSums{dbeta, false});
}

void batch_norm_input_gradient(const BatchNormShape& shape, const float* x, const float* dy,
                               const BatchNormTerms& terms, const float* dgamma, const float* dbeta, float* dx) {
  const std::int64_t rows = shape.images * shape.pixels;
  const GradientOfZ gradient{Normalised{terms}, x, dy, shape.channels};
  for_each_index(rows * shape.channels, BatchNormInputGradient{gradient, rows, dgamma, dbeta, dx});
}

void add_scaled(const float* values, std::int64_t count, float factor, bool accumulate, float* sums) {
  for_each_index(count, AddScaled{values, factor, accumulate, sums});
}

}  // namespace lockring::kernels::cuda
