#include "ops/optimizer_kernel.h"

#include "ops/cpu/simd/simd.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {

void sgd(const SgdRule& rule, std::int64_t count, const float* __restrict gradient, float* __restrict velocity,
         float* __restrict parameters) {
  const auto [scale, learning_rate, momentum, weight_decay, nesterov] = rule;
  if (velocity == nullptr) {
    for (std::int64_t i = 0; i < count; ++i) {
      const float g = fma(weight_decay, parameters[i], scale * gradient[i]);
      parameters[i] = fma(-learning_rate, g, parameters[i]);
    }
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = fma(weight_decay, parameters[i], scale * gradient[i]);
    const float v = fma(momentum, velocity[i], g);
    const float direction = nesterov ? fma(momentum, v, g) : v;
    velocity[i] = v;
    parameters[i] = fma(-learning_rate, direction, parameters[i]);
  }
}

void adam(const AdamRule& rule, std::int64_t count, const float* __restrict gradient, float* __restrict m,
          float* __restrict v, float* __restrict parameters) {
  const AdamRule r = rule;
  for (std::int64_t i = 0; i < count; ++i) {
    const float g = fma(r.weight_decay, parameters[i], r.gradient_scale * gradient[i]);
    m[i] = fma(r.rate1, g - m[i], m[i]);
    v[i] = fma(r.rate2 * g, g, r.beta2 * v[i]);
    const float denominator = fma(r.root_scale, __builtin_sqrtf(v[i]), r.epsilon);
    parameters[i] = fma(-r.step_size, m[i] / denominator, r.keep * parameters[i]);
  }
}

void moving_average(std::int64_t count, const float* __restrict values, float scale, float rate,
                    float* __restrict averages) {
  for (std::int64_t i = 0; i < count; ++i) averages[i] = fma(rate, scale * values[i] - averages[i], averages[i]);
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
