// The pieces that softmax and cross-entropy share.
#pragma once

#include "ops/cpu/simd/math.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {

// y = x less the row's maximum: what can be exponentiated without overflow.
LOCKRING_INLINE void shift_row(const float* x, std::int64_t channels, float* y) {
  float largest = x[0];
  for (std::int64_t c = 1; c < channels; ++c) largest = max(x[c], largest);
  for (std::int64_t c = 0; c < channels; ++c) y[c] = x[c] - largest;
}

// Divides the row by its sum, which it returns.
LOCKRING_INLINE double normalise_row(float* y, std::int64_t channels) {
  double sum = 0;
  for (std::int64_t c = 0; c < channels; ++c) sum += y[c];
  const auto factor = static_cast<float>(1 / sum);
  for (std::int64_t c = 0; c < channels; ++c) y[c] *= factor;
  return sum;
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
