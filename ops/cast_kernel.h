#pragma once

#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

// y = x, each of its own type.
using CastFn = void(ConstReals x, std::int64_t count, Reals y);

// From now on this thread's kernels find the bfloat16 of the values there; null: they make their own again.
using UseRoundedFn = void(const float* values, std::int64_t count, const void* rounded);

LOCKRING_DECLARE_KERNEL(CastFn, cast)
LOCKRING_DECLARE_KERNEL(UseRoundedFn, use_rounded)

}  // namespace lockring
