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

// One index an element of the arena, from `begin` on.
struct MoveArena {
  const ArenaStep* step;
  const Verdict* verdict;  // or null
  ArenaBuffers b;
  std::int64_t begin;
  LOCKRING_HOST_DEVICE float scale(float own) const { return verdict == nullptr ? own : verdict->gradient_scale; }
  LOCKRING_HOST_DEVICE void operator()(std::int64_t index) const {
    if (verdict != nullptr && verdict->bad != 0) return;
    const std::int64_t i = begin + index;
    const ElementKind kind = b.kinds[i / kElementsOfAKind];
    if (kind == ElementKind::statistic) {
      MovingAverage{b.gradient, step->statistic_scale, step->statistic_rate, b.parameters}(i);
    } else if (step->adam) {
      AdamRule rule = step->adam_of[static_cast<int>(kind)];
      rule.gradient_scale = scale(rule.gradient_scale);
      Adam{rule, b.gradient, b.first, b.second, b.parameters}(i);
    } else {
      SgdRule rule = step->sgd_of[static_cast<int>(kind)];
      rule.gradient_scale = scale(rule.gradient_scale);
      Sgd{rule, b.gradient, b.first, b.parameters}(i);
    }
    if (b.average != nullptr) MovingAverage{b.parameters, 1, step->average_rate, b.average}(i);
  }
};

// Index 0 alone.
struct PutArenaStep {
  ArenaStep step;
  ArenaStep* to;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t) const { *to = step; }
};

// Index 0 alone. The numbers that the CPU would come to, bit for bit.
struct Judge {
  const double* squares;
  std::int64_t parts;
  const float* losses;
  std::int64_t count;
  const VerdictRule* rule;
  Verdict* verdict;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t) const {
    double sum = 0;
    for (std::int64_t i = 0; i < parts; ++i) sum += squares[i];
    bool bad = !(sum - sum == 0);
    for (std::int64_t i = 0; i < count; ++i) bad = bad || !(losses[i] - losses[i] == 0);
    const double norm = sqrt(sum) / rule->count;
    const double mean = 1 / rule->count;
    const bool clip = rule->clip_norm > 0 && norm > rule->clip_norm;
    verdict->squares = sum;
    verdict->gradient_scale = static_cast<float>(clip ? mean * rule->clip_norm / norm : mean);
    if (bad) verdict->bad = 1;
  }
};

}  // namespace lockring::kernels::cuda
