#include "ops/cpu/conv2d_direct_kernel.h"

#include "ops/cpu/simd/vector.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {
namespace {

// `count` places of a row of the result side by side, for one register of channels.
template <int count>
LOCKRING_INLINE void direct_places(const float* input, std::int64_t width, const Vector* weights, std::int64_t stride,
                                   float* y) {
  Vector places[count] = {};
#pragma GCC unroll 9
  for (int tap = 0; tap < 9; ++tap)
#pragma GCC unroll 4
    for (int i = 0; i < count; ++i)
      places[i] = fma(broadcast(input[tap / 3 * width + tap % 3 + i]), weights[tap], places[i]);
  for (int i = 0; i < count; ++i) store(y + i * stride, places[i]);
}

}  // namespace

void conv2d_direct(const ConvShape& s, const float* x, const float* packed, float* y) {
  constexpr int kPlaces = 4;
  for (std::int64_t c = 0; c < s.out; c += kLanes) {
    Vector weights[9];
    for (int tap = 0; tap < 9; ++tap) weights[tap] = load(packed + tap * s.out + c);
    for (std::int64_t row = 0; row < s.n * s.oh; ++row) {
      const float* input = x + (row / s.oh * s.h + row % s.oh) * s.w;
      float* to = y + row * s.ow * s.out + c;
      std::int64_t column = 0;
      for (; column + kPlaces <= s.ow; column += kPlaces)
        direct_places<kPlaces>(input + column, s.w, weights, s.out, to + column * s.out);
      for (; column < s.ow; ++column) direct_places<1>(input + column, s.w, weights, s.out, to + column * s.out);
    }
  }
}

void conv2d_direct_weight_gradient(const ConvShape& s, const float* x, const float* dy, float* packed_dw) {
  for (std::int64_t c = 0; c < s.out; c += kLanes) {
    Vector sums[9] = {};
    for (std::int64_t n = 0; n < s.n; ++n) {
      // Of each image by itself, which keeps rounding small.
      Vector image[9] = {};
      for (std::int64_t row = 0; row < s.oh; ++row)
        for (std::int64_t column = 0; column < s.ow; ++column) {
          const float* input = x + (n * s.h + row) * s.w + column;
          const Vector value = load(dy + ((n * s.oh + row) * s.ow + column) * s.out + c);
#pragma GCC unroll 9
          for (int tap = 0; tap < 9; ++tap)
            image[tap] = fma(broadcast(input[tap / 3 * s.w + tap % 3]), value, image[tap]);
        }
      for (int tap = 0; tap < 9; ++tap) sums[tap] += image[tap];
    }
    for (int tap = 0; tap < 9; ++tap) store(packed_dw + tap * s.out + c, sums[tap]);
  }
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
