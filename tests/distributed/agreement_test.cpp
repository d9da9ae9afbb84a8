#include "distributed/agreement.h"

#include "distributed/digest.h"
#include "tests/distributed/thread_world.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

namespace lockring::dist {
namespace {

TEST(Digest, TellsWhatDiffers) {
  const std::string text = "conv1.weight 32x3x3x1";
  const auto of = [](const std::string& t) { return digest(std::as_bytes(std::span(t))); };
  EXPECT_EQ(of(text), of(std::string(text)));
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] ^= 1;
    EXPECT_NE(of(text), of(other)) << i;
  }
  EXPECT_NE(of("a"), of(std::string("a\0", 2)));
  EXPECT_NE(digest({}, 1), digest({}, 2));
}

TEST(Digest, OfPartsAddsUpToThatOfTheArena) {
  std::vector<float> arena(3 * kDigestBlock + 100);
  std::iota(arena.begin(), arena.end(), 1.0F);
  const auto size = std::ssize(arena);
  const std::uint64_t whole = digest_of(arena.data(), {0, size});
  for (int replicas = 1; replicas <= 5; ++replicas) {
    std::uint64_t sum = 0;
    for (int replica = 0; replica < replicas; ++replica)
      sum += digest_of(arena.data(), slice_of(size, kDigestBlock, replicas, replica));
    EXPECT_EQ(sum, whole) << replicas;
  }
  std::swap_ranges(arena.begin(), arena.begin() + kDigestBlock, arena.begin() + kDigestBlock);
  EXPECT_NE(digest_of(arena.data(), {0, size}), whole) << "blocks have changed places";
  EXPECT_EQ(digest_of(arena.data(), {0, 0}), 0U);
}

TEST(Agreement, OfAllIsSilent) {
  run_machines(3, [](World& world) {
    check_agreement(world, "the plan", "a 1\nb 2\n");
    check_equal(world, "the parameters", 17);
  });
}

TEST(Agreement, ShowsTheFirstLinesThatDiffer) {
  expect_error(ErrorCode::usage, "do not have the plan in common: rank 0 on ", [] {
    run_machines(3, [](World& world) {
      check_agreement(world, "the plan", world.rank() == 2 ? "a 1\nb 3\nc 4\n" : "a 1\nb 2\n");
    });
  });
  expect_error(ErrorCode::usage, " has 'b 2', rank 2 on ", [] {
    run_machines(3, [](World& world) {
      check_agreement(world, "the plan", world.rank() == 2 ? "a 1\nb 3\nc 4\n" : "a 1\nb 2\n");
    });
  });
  expect_error(ErrorCode::usage, " has '', rank 1 on ", [] {
    run_machines(2,
                 [](World& world) { check_agreement(world, "the plan", world.rank() == 1 ? "a 1\nb 2\n" : "a 1\n"); });
  });
}

TEST(Agreement, IsRefusedOnEveryRank) {
  std::atomic<int> refused = 0;
  run_machines(4, [&](World& world) {
    try {
      check_agreement(world, "the plan", std::to_string(world.rank() == 1));
    } catch (const Error&) {
      ++refused;
    }
  });
  EXPECT_EQ(refused, 4);
}

TEST(Agreement, NamesThoseWhoHoldSomethingElse) {
  expect_error(ErrorCode::device, "the parameters of rank 2 on ", [] {
    run_machines(3, [](World& world) { check_equal(world, "the parameters", world.rank() == 2 ? 5 : 4); });
  });
  EXPECT_EQ(odd_ones({1, 1, 1}), std::vector<int>{});
  EXPECT_EQ(odd_ones({1, 2, 2}), std::vector<int>{0});
  EXPECT_EQ(odd_ones({1, 2}), std::vector<int>{1});
  EXPECT_EQ(odd_ones({3, 2, 1, 2}), (std::vector<int>{0, 2}));
}

}  // namespace
}  // namespace lockring::dist
