#include "ops/activation.h"
#include "ops/cpu/simd/simd.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {

void bias_activation(float* y, std::int64_t rows, std::int64_t channels, const float* bias, Activation activation) {
  const float floor = activation == Activation::relu ? 0.0F : -__builtin_inff();
  for (std::int64_t row = 0; row < rows; ++row, y += channels) {
    if (bias == nullptr) {
      for (std::int64_t c = 0; c < channels; ++c) y[c] = y[c] < floor ? floor : y[c];
    } else {
      for (std::int64_t c = 0; c < channels; ++c) {
        const float value = y[c] + bias[c];
        y[c] = value < floor ? floor : value;  // NaN passes
      }
    }
  }
}

void relu_gradient(const float* y, const float* dy, std::int64_t count, float* dz) {
  for (std::int64_t i = 0; i < count; ++i) dz[i] = y[i] > 0 ? dy[i] : 0.0F;
}

void sum_rows(const float* dy, std::int64_t rows, std::int64_t channels, bool accumulate, float* sums) {
  constexpr std::int64_t kLanes = 64;
  for (std::int64_t first = 0; first < channels; first += kLanes) {
    const std::int64_t lanes = channels - first < kLanes ? channels - first : kLanes;
    float partial[kLanes];
    for (std::int64_t c = 0; c < kLanes; ++c) partial[c] = 0;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t c = 0; c < lanes; ++c) partial[c] += dy[row * channels + first + c];
    for (std::int64_t c = 0; c < lanes; ++c) sums[first + c] = accumulate ? sums[first + c] + partial[c] : partial[c];
  }
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
