#pragma once

#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

// y = word < threshold ? 0 : x * scale, with the words of ops/dropout.h; the low half of `key` comes first.
using DropoutFn = void(ConstReals x, std::int64_t rows, std::int64_t columns, std::int64_t first_sample,
                       std::uint64_t key, std::uint32_t threshold, float scale, Reals y);

LOCKRING_DECLARE_SIMD_KERNEL(DropoutFn, dropout)

}  // namespace lockring
