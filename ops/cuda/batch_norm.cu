#include "ops/batch_norm_kernel.h"

#include "ops/cuda/batch_norm_functor.h"
#include "ops/cuda/sums.h"

namespace lockring::kernels::cuda {
namespace {

using lockring::cuda::elements;
using lockring::cuda::map_rows;
using lockring::cuda::with_type;

std::int64_t rows_of(const BatchNormShape& s) { return s.images * s.pixels; }

RowGroups groups_of(const BatchNormShape& s) { return {rows_of(s), s.group * s.pixels, s.groups()}; }

Normalised normalised(const BatchNormShape& s, const BatchNormTerms& terms) {
  return {terms, groups_of(s), s.channels};
}

}  // namespace

void batch_norm_moments(const BatchNormShape& s, ConstReals x, float* mean, float* variance) {
  with_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    column_sums(groups_of(s), s.channels, Moments<T>{elements<T>(x), s.channels},
                StoreMoments{groups_of(s), s.channels, mean, variance});
  });
}

void batch_norm_apply(const BatchNormShape& s, ConstReals x, const BatchNormTerms& terms, Reals y) {
  map_rows(rows_of(s), s.channels, y, BatchNormApply{normalised(s, terms)}, x);
}

void batch_norm_sums(const BatchNormShape& s, ConstReals x, ConstReals dy, const BatchNormTerms& terms, float* dgamma,
                     float* dbeta) {
  with_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    const Normalised norm = normalised(s, terms);
    column_sums(groups_of(s), s.channels, ParameterGradients<T>{norm, elements<T>(x), elements<T>(dy)},
                StoreParameterGradients{norm, dgamma, dbeta});
  });
}

void batch_norm_input_gradient(const BatchNormShape& s, ConstReals x, ConstReals dy, const BatchNormTerms& terms,
                               const float* dgamma, const float* dbeta, Reals dx) {
  map_rows(rows_of(s), s.channels, dx, BatchNormInputGradient{normalised(s, terms), dgamma, dbeta}, x, dy);
}

void add_groups(const float* values, std::int64_t groups, std::int64_t channels, float factor, float last_factor,
                bool accumulate, float* sums) {
  lockring::cuda::for_each_index(channels, AddGroups{values, groups, channels, factor, last_factor, accumulate, sums});
}

}  // namespace lockring::kernels::cuda
