#include "core/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <vector>

namespace lockring {
namespace {

// Known answers of the authors' Random123 library for philox4x32-10.
TEST(Rng, PhiloxMatchesKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Rng, TheSameKeyGivesTheSameNumbers) {
  Rng a(7, RngStream::augment, 3, 5);
  Rng b(7, RngStream::augment, 3, 5);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.next_u32(), b.next_u32());
}

// 24 streams that differ in one part of the key: no 64-bit number occurs twice among their first 1000.
TEST(Rng, StreamsAreIndependent) {
  std::set<std::uint64_t> seen;
  std::size_t drawn = 0;
  for (const std::uint64_t seed : {0, 1})
    for (const RngStream stream : {RngStream::init, RngStream::shuffle, RngStream::dropout})
      for (const std::uint64_t a : {0, 1})
        for (const std::uint64_t b : {0, 1}) {
          Rng rng(seed, stream, a, b);
          for (int i = 0; i < 1000; ++i, ++drawn) seen.insert(rng.next_u64());
        }
  EXPECT_EQ(seen.size(), drawn);
}

TEST(Rng, NeighbouringStreamsDoNotCorrelate) {
  Rng a(1, RngStream::test, 1);
  Rng b(1, RngStream::test, 2);
  constexpr int kCount = 100'000;
  double sum = 0;
  for (int i = 0; i < kCount; ++i) sum += (a.uniform() - 0.5) * (b.uniform() - 0.5);
  EXPECT_NEAR(sum / kCount * 12, 0, 5 / std::sqrt(kCount));
}

TEST(Rng, UniformIsEvenlySpread) {
  Rng rng(1, RngStream::test);
  constexpr int kCount = 100'000;
  std::array<int, 20> bins{};
  for (int i = 0; i < kCount; ++i) {
    const float value = rng.uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    ++bins[static_cast<std::size_t>(value * 20)];
  }
  double chi_squared = 0;  // 19 degrees of freedom
  for (const int count : bins) chi_squared += std::pow(count - kCount / 20.0, 2) / (kCount / 20.0);
  EXPECT_LT(chi_squared, 43.8);  // exceeded once in a thousand
  for (int i = 0; i < 1000; ++i) {
    const float value = rng.uniform(-3, 5);
    ASSERT_GE(value, -3);
    ASSERT_LE(value, 5);
  }
}

TEST(Rng, NormalHasTheMomentsOfANormal) {
  Rng rng(2, RngStream::test);
  constexpr int kCount = 200'000;
  std::array<double, 4> moments{};
  int beyond_two = 0;
  for (int i = 0; i < kCount; ++i) {
    const double value = rng.normal();
    ASSERT_TRUE(std::isfinite(value));
    for (std::size_t k = 0; k < moments.size(); ++k) moments[k] += std::pow(value, k + 1) / kCount;
    if (std::abs(value) > 2) ++beyond_two;
  }
  EXPECT_NEAR(moments[0], 0, 0.01);
  EXPECT_NEAR(moments[1], 1, 0.02);
  EXPECT_NEAR(moments[2], 0, 0.04);
  EXPECT_NEAR(moments[3], 3, 0.1);
  EXPECT_NEAR(beyond_two / double{kCount}, 0.0455, 0.002);
}

TEST(Rng, BelowStaysBelowAndIsEven) {
  Rng rng(3, RngStream::test);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i) ++counts[rng.below(7)];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 400);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rng.below(1), 0);
  // Three quarters of the range: a plain remainder would fall in the first third twice as often as elsewhere.
  constexpr std::uint64_t kMost = std::uint64_t{3} << 62;
  int in_first_third = 0;
  for (int i = 0; i < 30'000; ++i)
    if (rng.below(kMost) < kMost / 3) ++in_first_third;
  EXPECT_NEAR(in_first_third, 10'000, 400);
}

TEST(Shuffle, IsAPermutation) {
  std::vector<std::uint32_t> values(10'000);
  std::iota(values.begin(), values.end(), 0);
  const std::vector<std::uint32_t> sorted = values;
  Rng rng(4, RngStream::shuffle);
  shuffle(values, rng);
  EXPECT_NE(values, sorted);
  std::ranges::sort(values);
  EXPECT_EQ(values, sorted);
}

TEST(Shuffle, AllOrdersAreEquallyLikely) {
  Rng rng(5, RngStream::shuffle);
  std::array<int, 6> counts{};
  for (int i = 0; i < 6000; ++i) {
    std::array<std::uint32_t, 3> values = {0, 1, 2};
    shuffle(values, rng);
    ++counts[values[0] * 2 + (values[1] > values[2] ? 1 : 0)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 140);
}

TEST(Shuffle, NothingAndOneStay) {
  Rng rng(6, RngStream::shuffle);
  std::vector<std::uint32_t> values;
  shuffle(values, rng);
  EXPECT_TRUE(values.empty());
  values = {9};
  shuffle(values, rng);
  EXPECT_EQ(values, (std::vector<std::uint32_t>{9}));
}

}  // namespace
}  // namespace lockring
