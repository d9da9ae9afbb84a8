#pragma once

#include "ops/conv2d_kernel.h"
#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

// In the kernels below the shape's oh and ow are those of the pooled part of the convolution: even.
// `source` says for each pooled value which of its four places it came from, row by row, or kNoSource if it is zero.
// Forward kernels take null where no gradient will be asked for.
constexpr std::uint8_t kNoSource = 4;

// `w` and `packed` as for conv2d.
using ConvReluPoolForwardFn = void(const ConvShape& shape, ConstReals x, const float* w, const float* packed,
                                   const float* bias, Reals y, std::uint8_t* source);
// What is wanted of the parameters' gradients; the others are null. They are added to if their flag says so.
struct ConvReluPoolGradients {
  float* dw = nullptr;
  float* db = nullptr;
  bool accumulate_w = false;
  bool accumulate_b = false;
};
// dx may be null; it is overwritten.
using ConvReluPoolBackwardFn = void(const ConvShape& shape, ConstReals x, const float* w, ConstReals dy,
                                    const std::uint8_t* source, Reals dx, const ConvReluPoolGradients& to);

LOCKRING_DECLARE_KERNEL(ConvReluPoolForwardFn, conv_relu_pool_forward)
LOCKRING_DECLARE_KERNEL(ConvReluPoolBackwardFn, conv_relu_pool_backward)

// The loops of the CPU form.

// z [2*rows][2*columns][channels] -> y, source [rows][columns][channels].
using BiasReluPoolFn = void(const float* z, std::int64_t rows, std::int64_t columns, std::int64_t channels,
                            const float* bias, float* y, std::uint8_t* source);
// dy, source [rows][columns][channels] -> dz [2*rows][2*columns][channels], all of it written.
using UnpoolFn = void(const float* dy, const std::uint8_t* source, std::int64_t rows, std::int64_t columns,
                      std::int64_t channels, float* dz);
// sums[channel] (+)= sum over the rows of dy where it has a source.
using SumSourcesFn = void(const float* dy, const std::uint8_t* source, std::int64_t rows, std::int64_t channels,
                          bool accumulate, float* sums);
// Where conv2d is direct (ops/cpu/conv2d.h). No padding.
using DirectConvReluPoolFn = void(const ConvShape& shape, const float* x, const float* packed, const float* bias,
                                  float* y, std::uint8_t* source);
// dw is written as [9][out], that is, packed.
using DirectConvReluPoolGradientFn = void(const ConvShape& shape, const float* x, const float* dy,
                                          const std::uint8_t* source, float* packed_dw);

// The gradients of a 3 x 3 convolution straight from those of its windows, each of which goes back to one place: a
// quarter of the multiply-adds. `in` and `out` are multiples of kWindowChannels. No padding. An image has at most
// 2^31 - 1 floats.
constexpr std::int64_t kWindowChannels = 16;
// Scratch: weights [out][9][kWindowChannels], masks [n][oh/2][ow/2][4][ceil(out / 64)].
using WindowInputGradientFn = void(const ConvShape& shape, const float* dy, const std::uint8_t* source, const float* w,
                                   float* weights, std::uint64_t* masks, float* dx);
// Scratch: values and inputs, [oh/2][ow/2][out].
using WindowWeightGradientFn = void(const ConvShape& shape, const float* x, const float* dy, const std::uint8_t* source,
                                    bool accumulate, float* values, std::int32_t* inputs, float* dw);

LOCKRING_DECLARE_SIMD_KERNEL(BiasReluPoolFn, bias_relu_pool)
LOCKRING_DECLARE_SIMD_KERNEL(UnpoolFn, unpool)
LOCKRING_DECLARE_SIMD_KERNEL(SumSourcesFn, sum_sources)
LOCKRING_DECLARE_SIMD_KERNEL(DirectConvReluPoolFn, direct_conv_relu_pool)
LOCKRING_DECLARE_SIMD_KERNEL(DirectConvReluPoolGradientFn, direct_conv_relu_pool_gradient)
LOCKRING_DECLARE_SIMD_KERNEL(WindowInputGradientFn, window_input_gradient)
LOCKRING_DECLARE_SIMD_KERNEL(WindowWeightGradientFn, window_weight_gradient)

}  // namespace lockring
