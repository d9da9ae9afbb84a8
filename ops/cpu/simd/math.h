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

struct Normal {
  float distribution, density;
};

// The standard normal distribution function, within 8 ulp even far left where it is tiny, and its density.
// The tail is t poly(t) exp(-x^2/2) with t = 1 / (1 + |x| / sqrt 8), after Hastings ("Approximations for Digital
// Computers", 1955); the coefficients are a minimax fit with a relative error of 4e-8.
LOCKRING_INLINE Normal normal(float x) {
  float magnitude = x < 0 ? -x : x;
  magnitude = magnitude > 15.0F ? 15.0F : magnitude;  // beyond, the tail is 0
  const float half_square = 0.5F * magnitude * magnitude;
  const float rest = fma(0.5F * magnitude, magnitude, -half_square);  // what rounding took from it
  const float rounded_bell = exp(-half_square);
  const float bell = fma(-rest, rounded_bell, rounded_bell);
  const float t = 1.0F / fma(magnitude, 0.353553391F, 1.0F);
  float tail = -0.0296386411F;
  tail = fma(tail, t, 0.1427962F);
  tail = fma(tail, t, -0.244654346F);
  tail = fma(tail, t, 0.140240957F);
  tail = fma(tail, t, -0.0141452239F);
  tail = fma(tail, t, 0.101695825F);
  tail = fma(tail, t, 0.121462799F);
  tail = fma(tail, t, 0.141199896F);
  tail = fma(tail, t, 0.141042512F);
  tail *= t * bell;
  return {x < 0 ? tail : 1.0F - tail, 0.398942280F * bell};
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
