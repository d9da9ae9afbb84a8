#pragma once

#include "ops/kernel.h"

#include <cstdint>

namespace lockring {

// The key of (seed, step, layer), with the step read from memory; of GPUs.
using DropoutKeyFn = void(std::uint64_t seed, const std::int64_t* step, std::uint32_t layer, std::uint64_t* key);
LOCKRING_DECLARE_KERNEL(DropoutKeyFn, dropout_key)

// y = word < threshold ? 0 : x * scale, with the words of ops/dropout.h; the low half of `key` comes first. GPUs read
// the key from `key_in_memory` unless it is null.
using DropoutFn = void(ConstReals x, std::int64_t rows, std::int64_t columns, std::int64_t first_sample,
                       std::uint64_t key, const std::uint64_t* key_in_memory, std::uint32_t threshold, float scale,
                       Reals y);

LOCKRING_DECLARE_SIMD_KERNEL(DropoutFn, dropout)

}  // namespace lockring
