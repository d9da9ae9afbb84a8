#include "ops/cpu/simd/simd.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lockring::kernels::cpu::LOCKRING_ISA {
namespace {

// Philox blocks side by side, one word of each in the lower half of its lane; the upper halves hold anything.
#if defined(__AVX512F__)
constexpr std::int64_t kBlocks = 8;
#else
constexpr std::int64_t kBlocks = 4;
#endif
constexpr std::int64_t kTile = 64;  // words drawn before they are used

using Words = std::uint64_t __attribute__((vector_size(8 * kBlocks)));
using UnalignedWords = std::uint64_t __attribute__((vector_size(8 * kBlocks), aligned(4), may_alias));

// The whole product of the lower halves.
LOCKRING_INLINE Words multiply(Words a, std::uint32_t b) {
#if defined(__AVX512F__)
  return reinterpret_cast<Words>(_mm512_maskz_mul_epu32(0xFF, reinterpret_cast<__m512i>(a), _mm512_set1_epi64(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<Words>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), _mm256_set1_epi64x(b)));
#else
  return (a & 0xFFFFFFFF) * b;
#endif
}

LOCKRING_INLINE Words lower(Words a) { return a & 0xFFFFFFFF; }

// core/rng.h's philox for the counters {first_block + 0, 1, 2, ..., 0, sample, sample >> 32}: the words in order.
LOCKRING_INLINE void philox(std::uint32_t first_block, std::uint64_t sample, std::uint64_t key, std::uint32_t* words) {
  // Lanes are out of order so that interleaving pairs of words, which works within 128 bits, puts them in order.
#if defined(__AVX512F__)
  Words a = Words{0, 4, 1, 5, 2, 6, 3, 7} + first_block;
#else
  Words a = Words{0, 2, 1, 3} + first_block;
#endif
  Words b{};
  Words c = Words{} + sample;
  Words d = Words{} + (sample >> 32);
  auto key0 = static_cast<std::uint32_t>(key);
  auto key1 = static_cast<std::uint32_t>(key >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const Words product0 = multiply(a, 0xD2511F53);
    const Words product1 = multiply(c, 0xCD9E8D57);
    a = (product1 >> 32) ^ b ^ key0;
    b = product1;
    c = (product0 >> 32) ^ d ^ key1;
    d = product0;
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  const Words ab = lower(a) | b << 32;
  const Words cd = lower(c) | d << 32;
  UnalignedWords* to = reinterpret_cast<UnalignedWords*>(words);
#if defined(__AVX512F__)
  to[0] = __builtin_shuffle(ab, cd, Words{0, 8, 2, 10, 4, 12, 6, 14});
  to[1] = __builtin_shuffle(ab, cd, Words{1, 9, 3, 11, 5, 13, 7, 15});
#else
  to[0] = __builtin_shuffle(ab, cd, Words{0, 4, 2, 6});
  to[1] = __builtin_shuffle(ab, cd, Words{1, 5, 3, 7});
#endif
}

}  // namespace

void dropout(const float* x, std::int64_t rows, std::int64_t columns, std::int64_t first_sample, std::uint64_t key,
             const std::uint64_t* /*key_in_memory*/, std::uint32_t threshold, float scale, float* y) {
  for (std::int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
    const auto sample = static_cast<std::uint64_t>(first_sample + row);
    for (std::int64_t first = 0; first < columns; first += kTile) {
      const std::int64_t count = columns - first < kTile ? columns - first : kTile;
      std::uint32_t words[kTile];
      for (std::int64_t i = 0; i < kTile; i += 4 * kBlocks)
        philox(static_cast<std::uint32_t>((first + i) / 4), sample, key, words + i);
      for (std::int64_t i = 0; i < count; ++i) y[first + i] = words[i] < threshold ? 0.0F : x[first + i] * scale;
    }
  }
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
