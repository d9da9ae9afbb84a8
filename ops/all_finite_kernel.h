#pragma once

#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

using AllFiniteFn = bool(const float* values, std::int64_t count);

LOCKRING_DECLARE_SIMD_KERNEL(AllFiniteFn, all_finite)

}  // namespace lockring
