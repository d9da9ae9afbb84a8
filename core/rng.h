// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011).
//
// A stream is named by a key, never advanced by others, so the numbers of a sample do not depend on which thread, rank
// or batch asks for them. Values are portable: the same key gives the same bits on every platform.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace lockring {

// What a stream of random numbers is for. Part of the key, so streams of different use never meet.
enum class RngStream : std::uint32_t { init, shuffle, split, augment, dropout, test };

class Rng {
 public:
  // `a` and `b` name the stream further: (epoch, sample), (step, layer), ...
  Rng(std::uint64_t seed, RngStream stream, std::uint64_t a = 0, std::uint64_t b = 0);

  std::uint32_t next_u32();
  std::uint64_t next_u64();
  // Uniform in [0, n), without bias; n > 0.
  std::uint64_t below(std::uint64_t n);
  // Uniform in [0, 1), 24 bits.
  float uniform();
  // Uniform from `low` to `high`, which rounding can reach.
  float uniform(float low, float high) { return low + (high - low) * uniform(); }
  // Standard normal (Box-Muller).
  float normal();

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  int used_ = 4;
};

// One Philox4x32-10 block: four random words from a counter and a key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// Fisher-Yates.
void shuffle(std::span<std::uint32_t> values, Rng& rng);

}  // namespace lockring
