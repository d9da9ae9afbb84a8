// One group of images: `images` times `pixels` rows of `channels`.
#pragma once

#include "ops/activation.h"
#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

struct BatchNormShape {
  std::int64_t images, pixels, channels;
};

// What normalises: [channels] each.
struct BatchNormTerms {
  const float* mean;
  const float* variance;
  const float* gamma;
  const float* beta;
  float epsilon;
  Activation activation;
};

// The mean and the biased variance of each channel; 0 where there are no values.
using BatchNormMomentsFn = void(const BatchNormShape& shape, const float* x, float* mean, float* variance);
using BatchNormApplyFn = void(const BatchNormShape& shape, const float* x, const BatchNormTerms& terms, float* y);
// dgamma and dbeta of this group.
using BatchNormSumsFn = void(const BatchNormShape& shape, const float* x, const float* dy, const BatchNormTerms& terms,
                             float* dgamma, float* dbeta);
// dx; with dgamma and dbeta null, the moments are constants.
using BatchNormInputGradientFn = void(const BatchNormShape& shape, const float* x, const float* dy,
                                      const BatchNormTerms& terms, const float* dgamma, const float* dbeta, float* dx);
// sums (+)= factor * values.
using AddScaledFn = void(const float* values, std::int64_t count, float factor, bool accumulate, float* sums);

LOCKRING_DECLARE_SIMD_KERNEL(BatchNormMomentsFn, batch_norm_moments)
LOCKRING_DECLARE_SIMD_KERNEL(BatchNormApplyFn, batch_norm_apply)
LOCKRING_DECLARE_SIMD_KERNEL(BatchNormSumsFn, batch_norm_sums)
LOCKRING_DECLARE_SIMD_KERNEL(BatchNormInputGradientFn, batch_norm_input_gradient)
LOCKRING_DECLARE_SIMD_KERNEL(AddScaledFn, add_scaled)

}  // namespace lockring
