// The square of the gradient's norm, for clipping and to see a gradient that is not finite.
#pragma once

#include "nn/arena.h"

#include <cstdint>
#include <span>

namespace lockring::nn {

constexpr std::int64_t kSquareSumBlock = 4096;

// The sum of squares of weights' and biases' gradients in [begin, end) of the arena that starts at `gradient`; begin is
// a multiple of kSquareSumBlock, end too or the arena's end. Not finite if and only if one of them is not.
//
// Sums of doubles depend on their order. Where the norm must not depend on who summed which range, pass `blocks`, one
// element for each block of the arena: those of the range are set. Everybody then adds up all of them, in order.
double square_sum(const ArenaLayout& layout, const float* gradient, std::int64_t begin, std::int64_t end,
                  std::span<double> blocks = {});

// The same of a whole gradient on a GPU, which nothing waits for. Its sum is that of all `parts`, in the GPU's memory:
// one for each range of the arena between statistics.
std::int64_t square_sum_parts(const ArenaLayout& layout);
void square_sums_on_gpu(const Arena& gradient, double* parts);

}  // namespace lockring::nn
