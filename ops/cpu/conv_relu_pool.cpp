#include "core/tensor.h"
#include "ops/conv_relu_pool_kernel.h"
#include "ops/cpu/conv2d.h"
#include "ops/cpu/winograd.h"

#include <algorithm>
#include <limits>

namespace lockring::kernels::cpu {
namespace {

constexpr Kernel<BiasReluPoolFn> kBiasReluPool{"conv_relu_pool", LOCKRING_SIMD_KERNELS(bias_relu_pool), nullptr};
constexpr Kernel<UnpoolFn> kUnpool{"conv_relu_pool", LOCKRING_SIMD_KERNELS(unpool), nullptr};
constexpr Kernel<SumSourcesFn> kSumSources{"conv_relu_pool", LOCKRING_SIMD_KERNELS(sum_sources), nullptr};
constexpr Kernel<DirectConvReluPoolFn> kDirect{"conv_relu_pool", LOCKRING_SIMD_KERNELS(direct_conv_relu_pool), nullptr};
constexpr Kernel<DirectConvReluPoolGradientFn> kDirectGradient{
    "conv_relu_pool", LOCKRING_SIMD_KERNELS(direct_conv_relu_pool_gradient), nullptr};

constexpr Kernel<WindowInputGradientFn> kWindowInputGradient{"conv_relu_pool",
                                                             LOCKRING_SIMD_KERNELS(window_input_gradient), nullptr};
constexpr Kernel<WindowWeightGradientFn> kWindowWeightGradient{"conv_relu_pool",
                                                               LOCKRING_SIMD_KERNELS(window_weight_gradient), nullptr};

// Gradients straight from the windows, where offsets within an image are of 32 bits.
bool by_windows(const ConvShape& shape) {
  const ConvShape s = padded(shape);
  return s.kh == 3 && s.kw == 3 && s.in % kWindowChannels == 0 && s.out % kWindowChannels == 0 &&
         s.h * s.w * s.in <= std::numeric_limits<std::int32_t>::max();
}

std::int64_t pooled_places(const ConvShape& s) { return s.oh / 2 * (s.ow / 2); }

// The gradient that reaches the convolution's result, [n][oh][ow][out].
Tensor unpooled(const ConvShape& s, const float* dy, const std::uint8_t* source) {
  Tensor dz = Tensor::empty({s.n, s.oh, s.ow, s.out});
  kUnpool.on()(dy, source, s.n * s.oh / 2, s.ow / 2, s.out, dz.data());
  return dz;
}

void direct_weight_gradient(const ConvShape& s, const float* x, const float* dy, const std::uint8_t* source,
                            bool accumulate, float* dw) {
  Tensor packed = Tensor::empty({9, s.out});
  kDirectGradient.on()(s, x, dy, source, packed.data());
  unpack_weight_gradient(packed.data(), s.out, accumulate, dw);
}

void window_input_gradient(const ConvShape& shape, const float* dy, const std::uint8_t* source, const float* w,
                           float* dx) {
  const ConvShape s = padded(shape);
  Tensor weights = Tensor::empty({s.out, 9, kWindowChannels});
  Tensor masks = Tensor::empty({s.n * pooled_places(s), 4, (s.out + 63) / 64}, DType::i64);
  Tensor bordered = shape.padding > 0 ? Tensor::empty({s.n, s.h, s.w, s.in}) : Tensor();
  kWindowInputGradient.on()(s, dy, source, w, weights.data(),
                            reinterpret_cast<std::uint64_t*>(masks.data<std::int64_t>()),
                            shape.padding > 0 ? bordered.data() : dx);
  if (shape.padding > 0) without_border(shape, bordered.data(), dx);
}

void window_weight_gradient(const ConvShape& shape, const float* x, const float* dy, const std::uint8_t* source,
                            bool accumulate, float* dw) {
  if (shape.n == 0 && !accumulate) std::fill_n(dw, shape.out * shape.patch(), 0.0F);
  Tensor scratch;
  const float* bordered = with_border(shape, x, scratch);
  Tensor values = Tensor::empty({pooled_places(shape), shape.out});
  Tensor inputs = Tensor::empty(values.shape(), DType::i32);
  kWindowWeightGradient.on()(padded(shape), bordered, dy, source, accumulate, values.data(),
                             inputs.data<std::int32_t>(), dw);
}

}  // namespace

void conv_relu_pool_forward(const ConvShape& shape, const float* x, const float* /*w*/, const float* packed,
                            const float* bias, float* y, std::uint8_t* source) {
  if (is_winograd(shape)) return winograd_pooled_forward(shape, x, packed + winograd_offset(shape), bias, y, source);
  Tensor scratch;
  const float* bordered = with_border(shape, x, scratch);
  const ConvShape s = padded(shape);
  if (is_direct(s)) return kDirect.on()(s, bordered, packed, bias, y, source);
  ConvShape image = s;
  image.n = 1;
  Tensor z = Tensor::empty({s.oh, s.ow, s.out});
  for (std::int64_t n = 0; n < s.n; ++n) {
    const std::int64_t first = n * pooled_places(s) * s.out;
    conv2d_products(image, bordered + n * s.h * s.w * s.in, packed, z.data());
    kBiasReluPool.on()(z.data(), s.oh / 2, s.ow / 2, s.out, bias, y + first,
                       source == nullptr ? nullptr : source + first);
  }
}

void conv_relu_pool_backward(const ConvShape& shape, const float* x, const float* w, const float* dy,
                             const std::uint8_t* source, float* dx, const ConvReluPoolGradients& to) {
  if (to.db != nullptr) kSumSources.on()(dy, source, shape.n * pooled_places(shape), shape.out, to.accumulate_b, to.db);
  const bool direct = is_direct(shape);
  if (to.dw != nullptr && direct) {
    Tensor scratch;
    const float* bordered = with_border(shape, x, scratch);
    direct_weight_gradient(padded(shape), bordered, dy, source, to.accumulate_w, to.dw);
  }
  if (by_windows(shape)) {
    if (dx != nullptr) window_input_gradient(shape, dy, source, w, dx);
    if (to.dw != nullptr) window_weight_gradient(shape, x, dy, source, to.accumulate_w, to.dw);
    return;
  }
  if (dx == nullptr && (to.dw == nullptr || direct)) return;
  const Tensor dz = unpooled(shape, dy, source);
  if (dx != nullptr) conv2d_input_gradient(shape, dz.data(), w, dx);
  if (to.dw != nullptr && !direct) conv2d_weight_gradient(shape, x, dz.data(), to.accumulate_w, to.dw);
}

}  // namespace lockring::kernels::cpu
