#include "distributed/digest.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lockring::dist {
namespace {

// The finaliser of MurmurHash3 (Appleby): every bit of the input moves every bit of the result.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdU;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53U;
  return x ^ (x >> 33);
}

}  // namespace

std::uint64_t digest(std::span<const std::byte> bytes, std::uint64_t seed) {
  std::uint64_t state = mixed(seed + bytes.size());
  for (; !bytes.empty(); bytes = bytes.subspan(std::min<std::size_t>(8, bytes.size()))) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), std::min<std::size_t>(8, bytes.size()));
    state = (std::rotl(state, 23) ^ word) * 0x9e3779b97f4a7c15U;
  }
  return mixed(state);
}

std::uint64_t digest_of(const float* arena, Slice part) {
  std::uint64_t sum = 0;
  for (std::int64_t begin = part.begin; begin < part.end; begin += kDigestBlock) {
    const auto count = static_cast<std::size_t>(std::min(kDigestBlock, part.end - begin));
    sum += digest(std::as_bytes(std::span(arena + begin, count)), static_cast<std::uint64_t>(begin / kDigestBlock) + 1);
  }
  return sum;
}

}  // namespace lockring::dist
