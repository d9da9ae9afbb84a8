// The passes of the optimizers over a range of the arena: one element of every buffer in, one out, so bits depend
// neither on the instruction set nor on how the arena is cut into ranges.
//
// The buffers of one call do not overlap. Gradients come as sums; `gradient_scale` makes them means.
#pragma once

#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

// g = gradient_scale * gradient + weight_decay * p
// v = momentum * v + g;  p -= learning_rate * (nesterov ? g + momentum * v : v)
struct SgdRule {
  float gradient_scale;
  float learning_rate;
  float momentum;
  float weight_decay;
  bool nesterov;
};
// Without a velocity (null), p -= learning_rate * g.
using SgdFn = void(const SgdRule& rule, std::int64_t count, const float* gradient, float* velocity, float* parameters);

// g = gradient_scale * gradient + weight_decay * p
// m += rate1 * (g - m);  v = beta2 * v + rate2 * g^2;  p = keep * p - step_size * m / (root_scale * sqrt(v) + epsilon)
struct AdamRule {
  float gradient_scale;
  float weight_decay;  // as a part of the gradient
  float keep;          // decoupled decay: what is left of p
  float rate1;         // 1 - beta1
  float beta2;
  float rate2;       // 1 - beta2
  float root_scale;  // 1 / sqrt(1 - beta2^t)
  float step_size;   // learning rate / (1 - beta1^t)
  float epsilon;
};
using AdamFn = void(const AdamRule& rule, std::int64_t count, const float* gradient, float* m, float* v,
                    float* parameters);

// averages += rate * (scale * values - averages)
using MovingAverageFn = void(std::int64_t count, const float* values, float scale, float rate, float* averages);

// On a GPU, one pass moves a whole arena. What it does lies in the GPU's memory, so that it may be launched again as it
// was with other numbers.
struct ArenaStep {
  bool adam;
  SgdRule sgd_of[2];  // of weights and biases, by ElementKind
  AdamRule adam_of[2];
  float statistic_scale;
  float statistic_rate;
  float average_rate;
};
enum class ElementKind : std::uint8_t { weight, bias, statistic };
constexpr std::int64_t kElementsOfAKind = 16;  // at least so many, one after another
struct ArenaBuffers {
  const ElementKind* kinds;  // of kElementsOfAKind each
  const float* gradient;
  float* parameters;
  float* first;    // velocity, or m; null if there is none
  float* second;   // v
  float* average;  // moving average of the parameters; null if none is kept
};

// What a step's loss and gradient say about its update.
struct Verdict {
  double squares;  // of the gradient
  float gradient_scale;
  std::int32_t bad;  // something was not finite, then or in a step before: nothing moves
};
struct VerdictRule {
  double count;  // samples
  double clip_norm;
};
// From partial sums of the gradient's squares and the losses; all of it in the GPU's memory.
using JudgeFn = void(const double* squares, std::int64_t parts, const float* losses, std::int64_t count,
                     const VerdictRule* rule, Verdict* verdict);
LOCKRING_DECLARE_KERNEL(JudgeFn, judge)

// Moves [begin, end) of the arena; the scale is the verdict's, or without one (null) the rules' own.
using MoveArenaFn = void(const ArenaStep* step, const Verdict* verdict, const ArenaBuffers& buffers, std::int64_t begin,
                         std::int64_t end);
using PutArenaStepFn = void(const ArenaStep& step, ArenaStep* to);
LOCKRING_DECLARE_KERNEL(MoveArenaFn, move_arena)
LOCKRING_DECLARE_KERNEL(PutArenaStepFn, put_arena_step)

LOCKRING_DECLARE_SIMD_KERNEL(SgdFn, sgd)
LOCKRING_DECLARE_SIMD_KERNEL(AdamFn, adam)
LOCKRING_DECLARE_SIMD_KERNEL(MovingAverageFn, moving_average)

// GPUs move whole arenas instead.
constexpr Kernel<SgdFn> kSgd{"sgd", LOCKRING_SIMD_KERNELS(sgd), nullptr};
constexpr Kernel<AdamFn> kAdam{"adam", LOCKRING_SIMD_KERNELS(adam), nullptr};
constexpr Kernel<MovingAverageFn> kMovingAverage{"moving_average", LOCKRING_SIMD_KERNELS(moving_average), nullptr};
constexpr Kernel<JudgeFn> kJudge{"judge", nullptr, LOCKRING_CUDA_KERNEL(kernels::cuda::judge)};
constexpr Kernel<MoveArenaFn> kMoveArena{"move_arena", nullptr, LOCKRING_CUDA_KERNEL(kernels::cuda::move_arena)};
constexpr Kernel<PutArenaStepFn> kPutArenaStep{"put_arena_step", nullptr,
                                               LOCKRING_CUDA_KERNEL(kernels::cuda::put_arena_step)};

}  // namespace lockring
