#include "ops/cpu/conv2d.h"
#include "ops/cpu/conv2d_direct_kernel.h"

namespace lockring::kernels::cpu {
namespace {

constexpr Kernel<Conv2dDirectFn> kDirect{"conv2d", LOCKRING_SIMD_KERNELS(conv2d_direct), nullptr};
constexpr Kernel<Conv2dDirectWeightGradientFn> kDirectWeightGradient{
    "conv2d", LOCKRING_SIMD_KERNELS(conv2d_direct_weight_gradient), nullptr};

}  // namespace

bool is_direct(const ConvShape& s) {
  return s.in == 1 && s.kh == 3 && s.kw == 3 && s.stride == 1 && s.out % kDirectChannels == 0;
}

void unpack_weight_gradient(const float* packed, std::int64_t out, bool accumulate, float* dw) {
  for (std::int64_t tap = 0; tap < 9; ++tap)
    for (std::int64_t o = 0; o < out; ++o)
      dw[o * 9 + tap] = accumulate ? dw[o * 9 + tap] + packed[tap * out + o] : packed[tap * out + o];
}

void conv2d_direct_products(const ConvShape& s, const float* x, const float* packed, float* y) {
  kDirect.on()(s, x, packed, y);
}

void conv2d_direct_weight_gradient(const ConvShape& s, const float* x, const float* dy, bool accumulate, float* dw) {
  Tensor packed = Tensor::empty({9, s.out});
  kDirectWeightGradient.on()(s, x, dy, packed.data());
  unpack_weight_gradient(packed.data(), s.out, accumulate, dw);
}

}  // namespace lockring::kernels::cpu
