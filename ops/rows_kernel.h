// What convolution and linear do to rows of channels around their products.
#pragma once

#include "ops/activation.h"
#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

// y = activation(y + bias), for `rows` rows of `channels`; bias may be null.
using BiasActivationFn = void(Reals y, std::int64_t rows, std::int64_t channels, const float* bias,
                              Activation activation);
// dz = dy where y > 0, else 0. dz may be dy.
using ReluGradientFn = void(ConstReals y, ConstReals dy, std::int64_t count, Reals dz);
// sums[channel] (+)= sum over the rows.
using SumRowsFn = void(ConstReals dy, std::int64_t rows, std::int64_t channels, bool accumulate, float* sums);

LOCKRING_DECLARE_SIMD_KERNEL(BiasActivationFn, bias_activation)
LOCKRING_DECLARE_SIMD_KERNEL(ReluGradientFn, relu_gradient)
LOCKRING_DECLARE_SIMD_KERNEL(SumRowsFn, sum_rows)

constexpr Kernel<BiasActivationFn> kBiasActivation{"bias_activation", LOCKRING_SIMD_KERNELS(bias_activation),
                                                   LOCKRING_CUDA_KERNEL(kernels::cuda::bias_activation)};
constexpr Kernel<ReluGradientFn> kReluGradient{"relu_gradient", LOCKRING_SIMD_KERNELS(relu_gradient),
                                               LOCKRING_CUDA_KERNEL(kernels::cuda::relu_gradient)};
constexpr Kernel<SumRowsFn> kSumRows{"sum_rows", LOCKRING_SIMD_KERNELS(sum_rows),
                                     LOCKRING_CUDA_KERNEL(kernels::cuda::sum_rows)};

}  // namespace lockring
