#include "ops/optimizer_kernel.h"

#include "core/cuda/launch.h"
#include "ops/cuda/optimizer_functor.h"

namespace lockring::kernels::cuda {

using lockring::cuda::for_each_index;

void judge(const double* squares, std::int64_t parts, const float* losses, std::int64_t count, const VerdictRule* rule,
           Verdict* verdict) {
  for_each_index(1, Judge{squares, parts, losses, count, rule, verdict});
}

void move_arena(const ArenaStep* step, const Verdict* verdict, const ArenaBuffers& buffers, std::int64_t begin,
                std::int64_t end) {
  for_each_index(end - begin, MoveArena{step, verdict, buffers, begin});
}

void put_arena_step(const ArenaStep& step, ArenaStep* to) { for_each_index(1, PutArenaStep{step, to}); }

}  // namespace lockring::kernels::cuda
