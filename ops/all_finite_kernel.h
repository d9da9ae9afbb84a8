#pragma once

#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

// *finite = 1, or 0 if one of the values is not.
using AllFiniteFn = void(ConstReals values, std::int64_t count, std::uint8_t* finite);

LOCKRING_DECLARE_SIMD_KERNEL(AllFiniteFn, all_finite)

}  // namespace lockring
