#include "core/rng.h"

#include <cassert>
#include <cmath>
#include <numbers>
#include <utility>

namespace lockring {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

namespace {

// SplitMix64's finaliser: spreads a structured key over all bits.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace

Rng::Rng(std::uint64_t seed, RngStream stream, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t key = mix(mix(seed) ^ static_cast<std::uint64_t>(stream));
  const std::uint64_t place = mix(mix(a) ^ b);
  key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
  counter_ = {0, 0, static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32)};
}

std::uint32_t Rng::next_u32() {
  if (used_ == 4) {
    block_ = philox(counter_, key_);
    if (++counter_[0] == 0) ++counter_[1];
    used_ = 0;
  }
  return block_[used_++];
}

std::uint64_t Rng::next_u64() {
  const std::uint64_t high = next_u32();
  return high << 32 | next_u32();
}

std::uint64_t Rng::below(std::uint64_t n) {
  assert(n > 0);
  const std::uint64_t reject_from = ~std::uint64_t{0} - ~std::uint64_t{0} % n;
  for (;;) {
    const std::uint64_t value = next_u64();
    if (value < reject_from) return value % n;
  }
}

float Rng::uniform() { return static_cast<float>(next_u32() >> 8) * 0x1p-24f; }

float Rng::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return static_cast<float>(radius * std::cos(2.0 * std::numbers::pi * uniform()));
}

void shuffle(std::span<std::uint32_t> values, Rng& rng) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[rng.below(i)]);
}

}  // namespace lockring
