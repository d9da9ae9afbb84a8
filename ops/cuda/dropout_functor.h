#pragma once

#include "core/cuda/bf16.h"
#include "core/rng.h"

#include <cstdint>

namespace lockring::kernels::cuda {

struct PhiloxWords {
  std::uint32_t word[4];
};

// core/rng.h's philox.
LOCKRING_HOST_DEVICE inline PhiloxWords philox_words(PhiloxWords counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53} * counter.word[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57} * counter.word[2];
    counter = {
        {static_cast<std::uint32_t>(product1 >> 32) ^ counter.word[1] ^ key0, static_cast<std::uint32_t>(product1),
         static_cast<std::uint32_t>(product0 >> 32) ^ counter.word[3] ^ key1, static_cast<std::uint32_t>(product0)}};
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return counter;
}

// core/rng.cpp's mix.
LOCKRING_HOST_DEVICE inline std::uint64_t mix_bits(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// The first words of Rng(seed, RngStream::dropout, step, layer). Index 0 alone.
struct DropoutKey {
  std::uint64_t seed;
  const std::int64_t* step;
  std::uint32_t layer;
  std::uint64_t* key;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t) const {
    const std::uint64_t stream = mix_bits(mix_bits(seed) ^ static_cast<std::uint64_t>(RngStream::dropout));
    const std::uint64_t place = mix_bits(mix_bits(static_cast<std::uint64_t>(*step)) ^ layer);
    const PhiloxWords words =
        philox_words({{0, 0, static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32)}},
                     static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32));
    *key = static_cast<std::uint64_t>(words.word[1]) << 32 | words.word[0];
  }
};

// One index a Philox block: four columns of a row, or what is left of it. `blocks` is their number in a row.
template <class T>
struct Dropout {
  const T* x;
  std::int64_t columns, blocks, first_sample;
  std::uint64_t key;
  const std::uint64_t* key_in_memory;  // or null
  std::uint32_t threshold;
  float scale;
  T* y;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t row = i / blocks;
    const std::int64_t block = i % blocks;
    const auto sample = static_cast<std::uint64_t>(first_sample + row);
    const std::uint64_t key_now = key_in_memory == nullptr ? key : *key_in_memory;
    const PhiloxWords words =
        philox_words({{static_cast<std::uint32_t>(block), 0, static_cast<std::uint32_t>(sample),
                       static_cast<std::uint32_t>(sample >> 32)}},
                     static_cast<std::uint32_t>(key_now), static_cast<std::uint32_t>(key_now >> 32));
    const std::int64_t first = block * 4;
    for (std::int64_t j = 0; j < 4 && first + j < columns; ++j) {
      const std::int64_t at = row * columns + first + j;
      lockring::cuda::store(y + at, words.word[j] < threshold ? 0.0F : lockring::cuda::to_float(x[at]) * scale);
    }
  }
};

}  // namespace lockring::kernels::cuda
