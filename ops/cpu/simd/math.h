// Functions that loops of this folder call for each element, so written that GCC vectorises them: no branches, no
// tables, no calls. Both instruction sets give the same bits.
#pragma once

#include "ops/cpu/simd/simd.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {

// 2^n for n in [-126, 127].
LOCKRING_INLINE float power_of_two(std::int32_t n) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(n + 127) << 23);
}

// e^x, within 1 ulp; infinity from 88.73 on, denormals and then 0 below -87.34, NaN for NaN.
// With x = n ln 2 + r (Cody and Waite), e^x = 2^n e^r, and e^r is its Taylor series, since |r| < 0.35.
LOCKRING_INLINE float exp(float x) {
  x = x < -104.0F ? -104.0F : x;  // written so that NaN passes
  x = x > 89.0F ? 89.0F : x;
  const float kRound = 0x1.8p23F;  // adding it leaves n in the lowest bits
  const float shifted = fma(x, 1.44269504F, kRound);
  const std::int32_t n = __builtin_bit_cast(std::int32_t, shifted) - __builtin_bit_cast(std::int32_t, kRound);
  const float whole = shifted - kRound;
  float r = fma(whole, -0.693147182464599609375F, x);
  r = fma(whole, 1.904654299957767878e-9F, r);
  float power = 1.0F / 5040;
  power = fma(power, r, 1.0F / 720);
  power = fma(power, r, 1.0F / 120);
  power = fma(power, r, 1.0F / 24);
  power = fma(power, r, 1.0F / 6);
  power = fma(power, r, 0.5F);
  power = fma(power, r, 1.0F);
  power = fma(power, r, 1.0F);
  // In two steps, since 2^n alone may lie outside the range of normal numbers.
  const std::int32_t half = n >> 1;
  return power * power_of_two(half) * power_of_two(n - half);
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
