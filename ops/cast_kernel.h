#pragma once

#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

// y = x, each of its own type.
using CastFn = void(ConstReals x, std::int64_t count, Reals y);

LOCKRING_DECLARE_KERNEL(CastFn, cast)

}  // namespace lockring
