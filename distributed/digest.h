// Digests of 64 bits: to see whether ranks hold the same, not to guard against forgers.
#pragma once

#include "distributed/slice.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace lockring::dist {

std::uint64_t digest(std::span<const std::byte> bytes, std::uint64_t seed = 0);

// Arenas are digested block by block, so that replicas can share the work.
constexpr std::int64_t kDigestBlock = 4096;
// Of the elements in `part`, which begins at a multiple of kDigestBlock and ends at one or at the arena's end. The
// digests of its parts add up, modulo 2^64, to the arena's, however it was cut.
std::uint64_t digest_of(const float* arena, Slice part);

}  // namespace lockring::dist
