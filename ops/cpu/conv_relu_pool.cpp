#include "core/tensor.h"
#include "ops/conv_relu_pool_kernel.h"
#include "ops/cpu/conv2d.h"

namespace lockring::kernels::cpu {
namespace {

constexpr Kernel<BiasReluPoolFn> kBiasReluPool{"conv_relu_pool", LOCKRING_SIMD_KERNELS(bias_relu_pool), nullptr};
constexpr Kernel<UnpoolFn> kUnpool{"conv_relu_pool", LOCKRING_SIMD_KERNELS(unpool), nullptr};
constexpr Kernel<SumSourcesFn> kSumSources{"conv_relu_pool", LOCKRING_SIMD_KERNELS(sum_sources), nullptr};
constexpr Kernel<DirectConvReluPoolFn> kDirect{"conv_relu_pool", LOCKRING_SIMD_KERNELS(direct_conv_relu_pool), nullptr};
constexpr Kernel<DirectConvReluPoolGradientFn> kDirectGradient{
    "conv_relu_pool", LOCKRING_SIMD_KERNELS(direct_conv_relu_pool_gradient), nullptr};

bool is_direct(const ConvShape& s) { return s.in == 1 && s.kh == 3 && s.kw == 3 && s.out % kDirectChannels == 0; }

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
  const float* from = packed.data();
  for (std::int64_t tap = 0; tap < 9; ++tap)
    for (std::int64_t out = 0; out < s.out; ++out)
      dw[out * 9 + tap] = accumulate ? dw[out * 9 + tap] + from[tap * s.out + out] : from[tap * s.out + out];
}

}  // namespace

void conv_relu_pool_forward(const ConvShape& shape, const float* x, const float* /*w*/, const float* packed,
                            const float* bias, float* y, std::uint8_t* source) {
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
    kBiasReluPool.on()(z.data(), s.oh / 2, s.ow / 2, s.out, bias, y + first, source + first);
  }
}

void conv_relu_pool_backward(const ConvShape& shape, const float* x, const float* w, const float* dy,
                             const std::uint8_t* source, const ConvReluPoolGradients& to) {
  if (to.db != nullptr) kSumSources.on()(dy, source, shape.n * pooled_places(shape), shape.out, to.accumulate_b, to.db);
  const bool direct = is_direct(shape);
  if (to.dw != nullptr && direct) {
    Tensor scratch;
    const float* bordered = with_border(shape, x, scratch);
    direct_weight_gradient(padded(shape), bordered, dy, source, to.accumulate_w, to.dw);
  }
  if (to.dx == nullptr && (to.dw == nullptr || direct)) return;
  const Tensor dz = unpooled(shape, dy, source);
  if (to.dx != nullptr) conv2d_input_gradient(shape, dz.data(), w, to.dx);
  if (to.dw != nullptr && !direct) conv2d_weight_gradient(shape, x, dz.data(), to.accumulate_w, to.dw);
}

}  // namespace lockring::kernels::cpu
