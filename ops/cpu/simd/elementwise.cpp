#include "ops/cpu/simd/math.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {

void relu(const float* x, std::int64_t count, float* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] < 0 ? 0.0F : x[i];
}

void gelu(const float* x, std::int64_t count, float* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * normal(x[i]).distribution;
}

void gelu_gradient(const float* x, const float* dy, std::int64_t count, float* dx) {
  for (std::int64_t i = 0; i < count; ++i) {
    const Normal at = normal(x[i]);
    dx[i] = dy[i] * fma(x[i], at.density, at.distribution);
  }
}

void silu(const float* x, std::int64_t count, float* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] / (1.0F + exp(-x[i]));
}

void silu_gradient(const float* x, const float* dy, std::int64_t count, float* dx) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float sigmoid = 1.0F / (1.0F + exp(-x[i]));
    dx[i] = dy[i] * sigmoid * fma(x[i], 1.0F - sigmoid, 1.0F);
  }
}

void add(const float* a, const float* b, std::int64_t count, float* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = a[i] + b[i];
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
