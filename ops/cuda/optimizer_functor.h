// The optimizers' passes, one index an element of the arena.
#pragma once

#include "core/cuda/host_device.h"
#include "ops/optimizer_kernel.h"

#include <cmath>
#include <cstdint>

namespace lockring::kernels::cuda {

struct Sgd {
  SgdRule rule;
  const float* gradient;
  float* velocity;  // or null
  float* parameters;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const float g = fmaf(rule.weight_decay, parameters[i], rule.gradient_scale * gradient[i]);
    float direction = g;
    if (velocity != nullptr) {
      const float v = fmaf(rule.momentum, velocity[i], g);
      velocity[i] = v;
      direction = rule.nesterov ? fmaf(rule.momentum, v, g) : v;
    }
    parameters[i] = fmaf(-rule.learning_rate, direction, parameters[i]);
  }
};

struct Adam {
  AdamRule rule;
  const float* gradient;
  float *m, *v, *parameters;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const float g = fmaf(rule.weight_decay, parameters[i], rule.gradient_scale * gradient[i]);
    m[i] = fmaf(rule.rate1, g - m[i], m[i]);
    v[i] = fmaf(rule.rate2 * g, g, rule.beta2 * v[i]);
    const float denominator = fmaf(rule.root_scale, sqrtf(v[i]), rule.epsilon);
    parameters[i] = fmaf(-rule.step_size, m[i] / denominator, rule.keep * parameters[i]);
  }
};

struct MovingAverage {
  const float* values;
  float scale, rate;
  float* averages;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    averages[i] = fmaf(rate, scale * values[i] - averages[i], averages[i]);
  }
};

}  // namespace lockring::kernels::cuda
