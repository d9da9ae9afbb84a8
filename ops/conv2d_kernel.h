#pragma once

#include "ops/activation.h"
#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

// oh and ow may be less than the whole result: then its first rows and columns.
struct ConvShape {
  std::int64_t n, h, w, in;
  std::int64_t oh, ow, out;
  std::int64_t kh, kw, stride, padding;

  std::int64_t taps() const { return kh * kw; }
  std::int64_t patch() const { return kh * kw * in; }
};

// `w` is OHWI, `packed` the same as conv2d_pack makes it: CPUs read this one, GPUs that one, and the other may be null,
// as may `bias`.
using Conv2dForwardFn = void(const ConvShape& shape, ConstReals x, const float* w, const float* packed,
                             const float* bias, Activation activation, Reals y);
// `w` is OHWI. Overwrites dx.
using Conv2dInputGradientFn = void(const ConvShape& shape, ConstReals dy, const float* w, Reals dx);
using Conv2dWeightGradientFn = void(const ConvShape& shape, ConstReals x, ConstReals dy, bool accumulate, float* dw);

// For CPUs: what the forward pass reads of weights, by the shape's weights and stride alone, and how many floats it is.
using Conv2dPackFn = void(const ConvShape& shape, const float* w, float* packed);
using Conv2dPackedFloatsFn = std::int64_t(const ConvShape& shape);

LOCKRING_DECLARE_KERNEL(Conv2dPackFn, conv2d_pack)
LOCKRING_DECLARE_KERNEL(Conv2dPackedFloatsFn, conv2d_packed_floats)
LOCKRING_DECLARE_KERNEL(Conv2dForwardFn, conv2d_forward)
LOCKRING_DECLARE_KERNEL(Conv2dInputGradientFn, conv2d_input_gradient)
LOCKRING_DECLARE_KERNEL(Conv2dWeightGradientFn, conv2d_weight_gradient)

constexpr Kernel<Conv2dPackFn> kConv2dPack{"conv2d", kernels::cpu::conv2d_pack, nullptr};
constexpr Kernel<Conv2dPackedFloatsFn> kConv2dPackedFloats{"conv2d", kernels::cpu::conv2d_packed_floats, nullptr};
constexpr Kernel<Conv2dForwardFn> kConv2dForward{"conv2d", kernels::cpu::conv2d_forward,
                                                 LOCKRING_CUDA_KERNEL(kernels::cuda::conv2d_forward)};
constexpr Kernel<Conv2dInputGradientFn> kConv2dInputGradient{
    "conv2d", kernels::cpu::conv2d_input_gradient, LOCKRING_CUDA_KERNEL(kernels::cuda::conv2d_input_gradient)};
constexpr Kernel<Conv2dWeightGradientFn> kConv2dWeightGradient{
    "conv2d", kernels::cpu::conv2d_weight_gradient, LOCKRING_CUDA_KERNEL(kernels::cuda::conv2d_weight_gradient)};

class Tensor;

namespace ops {

// Checks x [n][h][w][in], w OHWI and b against each other and gives the whole convolution's sizes.
// Throws Error{usage}, naming `op`.
ConvShape conv_shape(const char* op, const Tensor& x, const Tensor& w, const Tensor& b, std::int64_t stride,
                     std::int64_t padding);
// `packed` itself, or if it is undefined w as conv2d_pack makes it; undefined on a device that reads weights as they
// are. Throws Error{usage} if `packed` has another size.
Tensor packed_weights(const Tensor& w, std::int64_t stride, const Tensor& packed);

}  // namespace ops

}  // namespace lockring
