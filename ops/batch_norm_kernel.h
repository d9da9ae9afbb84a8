// Groups of images: each of `group` images of `pixels` rows of `channels`; the last has the remainder too. Moments and
// their gradients are [groups][channels]. A CPU's kernels are given one group, which stays in the cache.
#pragma once

#include "ops/activation.h"
#include "ops/kernel.h"

#include <algorithm>
#include <cstdint>

namespace lockring {

struct BatchNormShape {
  std::int64_t images, pixels, channels;
  std::int64_t group;  // above 0

  std::int64_t groups() const { return std::max<std::int64_t>(images / group, 1); }
  std::int64_t images_of(std::int64_t g) const { return g + 1 < groups() ? group : images - g * group; }
};

// What normalises: moments of each group, gamma and beta [channels].
struct BatchNormTerms {
  const float* mean;
  const float* variance;
  const float* gamma;
  const float* beta;
  float epsilon;
  Activation activation;
};

// The mean and the biased variance of each channel of each group; 0 where there are no values.
using BatchNormMomentsFn = void(const BatchNormShape& shape, ConstReals x, float* mean, float* variance);
using BatchNormApplyFn = void(const BatchNormShape& shape, ConstReals x, const BatchNormTerms& terms, Reals y);
// dgamma and dbeta of each group.
using BatchNormSumsFn = void(const BatchNormShape& shape, ConstReals x, ConstReals dy, const BatchNormTerms& terms,
                             float* dgamma, float* dbeta);
// dx; with dgamma and dbeta null, the moments are constants.
using BatchNormInputGradientFn = void(const BatchNormShape& shape, ConstReals x, ConstReals dy,
                                      const BatchNormTerms& terms, const float* dgamma, const float* dbeta, Reals dx);
// sums [channels] (+)= the sum over the groups of factor * values [groups][channels], group by group; the last one has
// a factor of its own.
using AddGroupsFn = void(const float* values, std::int64_t groups, std::int64_t channels, float factor,
                         float last_factor, bool accumulate, float* sums);

LOCKRING_DECLARE_SIMD_KERNEL(BatchNormMomentsFn, batch_norm_moments)
LOCKRING_DECLARE_SIMD_KERNEL(BatchNormApplyFn, batch_norm_apply)
LOCKRING_DECLARE_SIMD_KERNEL(BatchNormSumsFn, batch_norm_sums)
LOCKRING_DECLARE_SIMD_KERNEL(BatchNormInputGradientFn, batch_norm_input_gradient)
LOCKRING_DECLARE_SIMD_KERNEL(AddGroupsFn, add_groups)

}  // namespace lockring
