// The passes of the optimizers over a range of the arena: one element of every buffer in, one out, so bits depend
// neither on the instruction set nor on how the arena is cut into ranges.
//
// The buffers of one call do not overlap. Gradients come as sums; `gradient_scale` makes them means.
#pragma once

#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

// g = gradient_scale * gradient + weight_decay * p
// v = momentum * v + g;  p -= learning_rate * (nesterov ? g + momentum * v : v)
struct SgdRule {
  float gradient_scale;
  float learning_rate;
  float momentum;
  float weight_decay;
  bool nesterov;
};
// Without a velocity (null), p -= learning_rate * g.
using SgdFn = void(const SgdRule& rule, std::int64_t count, const float* gradient, float* velocity, float* parameters);

// g = gradient_scale * gradient + weight_decay * p
// m += rate1 * (g - m);  v = beta2 * v + rate2 * g^2;  p = keep * p - step_size * m / (root_scale * sqrt(v) + epsilon)
struct AdamRule {
  float gradient_scale;
  float weight_decay;  // as a part of the gradient
  float keep;          // decoupled decay: what is left of p
  float rate1;         // 1 - beta1
  float beta2;
  float rate2;       // 1 - beta2
  float root_scale;  // 1 / sqrt(1 - beta2^t)
  float step_size;   // learning rate / (1 - beta1^t)
  float epsilon;
};
using AdamFn = void(const AdamRule& rule, std::int64_t count, const float* gradient, float* m, float* v,
                    float* parameters);

// averages += rate * (scale * values - averages)
using MovingAverageFn = void(std::int64_t count, const float* values, float scale, float rate, float* averages);

LOCKRING_DECLARE_SIMD_KERNEL(SgdFn, sgd)
LOCKRING_DECLARE_SIMD_KERNEL(AdamFn, adam)
LOCKRING_DECLARE_SIMD_KERNEL(MovingAverageFn, moving_average)

constexpr Kernel<SgdFn> kSgd{"sgd", LOCKRING_SIMD_KERNELS(sgd), LOCKRING_CUDA_KERNEL(kernels::cuda::sgd)};
constexpr Kernel<AdamFn> kAdam{"adam", LOCKRING_SIMD_KERNELS(adam), LOCKRING_CUDA_KERNEL(kernels::cuda::adam)};
constexpr Kernel<MovingAverageFn> kMovingAverage{"moving_average", LOCKRING_SIMD_KERNELS(moving_average),
                                                 LOCKRING_CUDA_KERNEL(kernels::cuda::moving_average)};

}  // namespace lockring
