#include "distributed/communicator.h"

#include "core/rng.h"
#include "tests/distributed/ranks.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

namespace lockring::dist {
namespace {

constexpr Algorithm kAll[] = {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::halving_doubling};

std::vector<float> values_of(int rank, std::int64_t elements, std::uint64_t seed = 1) {
  Rng rng(seed, RngStream::test, static_cast<std::uint64_t>(rank));
  std::vector<float> values(static_cast<std::size_t>(elements));
  for (float& value : values) value = rng.uniform(-1, 1);
  return values;
}

std::vector<double> exact_sum(int size, std::int64_t elements, std::uint64_t seed = 1) {
  std::vector<double> sum(static_cast<std::size_t>(elements));
  for (int rank = 0; rank < size; ++rank) {
    const std::vector<float> values = values_of(rank, elements, seed);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
  }
  return sum;
}

void expect_near(const std::vector<float>& values, const std::vector<double>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], expected[i], 1e-5) << i;
}

// What every rank holds after an all-reduce of values_of(rank).
std::vector<std::vector<float>> all_reduced(int size, std::int64_t elements, Algorithm algorithm) {
  std::vector<std::vector<float>> results(size);
  run_ranks(size, [&](Communicator& group) {
    std::vector<float> values = values_of(group.rank(), elements);
    group.all_reduce(values, algorithm);
    results[group.rank()] = std::move(values);
  });
  return results;
}

TEST(AllReduce, SumsWithEqualBitsOnEveryRank) {
  // Around the borders of segments, of chunks and of one element a rank.
  for (const Algorithm algorithm : kAll)
    for (int size = 1; size <= 9; ++size)
      for (const std::int64_t elements : {1, 2, size, size + 1, 1000, 65535, 65536, 65537, 200000}) {
        const auto results = all_reduced(size, elements, algorithm);
        expect_near(results[0], exact_sum(size, elements));
        for (const std::vector<float>& result : results) ASSERT_EQ(result, results[0]) << to_string(algorithm);
      }
}

// Pairs of adjacent ranks, then pairs of pairs.
std::vector<float> tree_sum(std::vector<std::vector<float>> parts) {
  for (std::size_t distance = 1; distance < parts.size(); distance *= 2)
    for (std::size_t i = 0; i + distance < parts.size(); i += 2 * distance)
      for (std::size_t k = 0; k < parts[i].size(); ++k) parts[i][k] += parts[i + distance][k];
  return parts[0];
}

TEST(AllReduce, HalvingAndDoublingAddAsOneBinaryTree) {
  for (const int size : {2, 4, 8}) {
    std::vector<std::vector<float>> parts;
    for (int rank = 0; rank < size; ++rank) parts.push_back(values_of(rank, 1003));
    const std::vector<float> expected = tree_sum(parts);
    EXPECT_EQ(all_reduced(size, 1003, Algorithm::halving_doubling)[0], expected);
    EXPECT_EQ(all_reduced(size, 1003, Algorithm::recursive_doubling)[0], expected);
  }
}

TEST(AllReduce, OfDoublesCountsExactly) {
  run_ranks(5, [](Communicator& group) {
    double values[] = {9007199254740990.0 * (group.rank() == 0), 1.0, static_cast<double>(group.rank())};
    group.all_reduce(std::span<double>(values));
    EXPECT_EQ(values[0] + 1, 9007199254740991.0);
    EXPECT_EQ(values[1], 5);
    EXPECT_EQ(values[2], 10);
  });
}

TEST(AllReduce, ManyOfRandomSizesInARow) {
  // Thousands of exchanges that follow each other closely: what a training loop does. LOCKRING_STRESS=100000 asks for
  // so many.
  const char* asked = std::getenv("LOCKRING_STRESS");
  const int count = asked != nullptr ? std::stoi(asked) / 4 : 300;
  for (int size = 2; size <= 5; ++size)
    run_ranks(size, [&](Communicator& group) {
      Rng sizes(7, RngStream::test);  // the same on every rank
      for (int i = 0; i < count; ++i) {
        const auto elements = static_cast<std::int64_t>(1 + sizes.below(i % 50 == 0 ? 300000 : 3000));
        std::vector<float> values(static_cast<std::size_t>(elements), static_cast<float>(group.rank() + i % 7));
        group.all_reduce(values, kAll[i % 3]);
        const auto expected = static_cast<float>(size * (size - 1) / 2 + size * (i % 7));
        for (const float value : values) ASSERT_EQ(value, expected);
      }
    });
}

TEST(AllReduce, ASteadyOneAllocatesNothing) {
  run_ranks(3, [](Communicator& group) {
    std::vector<float> values(200000, 1);
    group.all_reduce(values, Algorithm::ring);
    group.barrier();
    const AllocationCounter allocations;
    group.all_reduce(values, Algorithm::ring);
    // The other threads' transports allocate their messages, on threads of their own.
    EXPECT_LT(allocations.count(), 40);
  });
}

TEST(Exchange, IsCarriedOnByWhoComputes) {
  run_ranks(2, [](Communicator& group) {
    Exchange<float> first(group.transport(), 1, Algorithm::ring, 100000);
    Exchange<float> second(group.transport(), 2, Algorithm::ring, 50000);
    std::vector<float> a(100000, 1), b(50000, 2);
    // Two at once, begun in another order on the other rank: channels keep them apart.
    if (group.rank() == 0) {
      first.start(a.data());
      second.start(b.data());
    } else {
      second.start(b.data());
      first.start(a.data());
    }
    int polls = 0;
    while (!first.progress() | !second.progress()) ASSERT_LT(++polls, 100000000);
    for (const float value : a) ASSERT_EQ(value, 2);
    for (const float value : b) ASSERT_EQ(value, 4);
    EXPECT_FALSE(first.running());
  });
}

TEST(Communicator, BroadcastsFromAnyRoot) {
  for (int size = 1; size <= 6; ++size)
    for (int root = 0; root < size; ++root)
      run_ranks(size, [&](Communicator& group) {
        std::vector<std::uint32_t> values(700000, group.rank() == root ? 7 + root : 0);  // several pieces
        group.broadcast(std::as_writable_bytes(std::span(values)), root);
        for (const std::uint32_t value : values) ASSERT_EQ(value, static_cast<std::uint32_t>(7 + root));
      });
}

TEST(Communicator, GathersTextsInTheOrderOfRanks) {
  run_ranks(4, [](Communicator& group) {
    const std::vector<std::string> texts = group.all_gather(std::string(group.rank(), 'x') + "y");
    EXPECT_EQ(texts, (std::vector<std::string>{"y", "xy", "xxy", "xxxy"}));
  });
}

TEST(Communicator, ABarrierWaitsForAll) {
  std::atomic<int> arrived = 0;
  run_ranks(4, [&](Communicator& group) {
    for (int round = 1; round <= 50; ++round) {
      ++arrived;
      group.barrier();
      EXPECT_GE(arrived, 4 * round);
      group.barrier();
    }
  });
}

// All but rank `absent` of `size` wait for each other in `operation`; what the first to give up says.
void wait_without(int size, int absent, const std::function<void(Communicator&)>& operation) {
  run_ranks(size, [&](Communicator& group) {
    group.barrier();  // all threads are there
    group.set_timeout(std::chrono::seconds(1));
    if (group.rank() != absent) operation(group);
  });
}

TEST(Communicator, NamesWhoIsMissing) {
  expect_error(ErrorCode::device, "waited more than 1 s in an all-reduce; missing: rank 1", [] {
    wait_without(2, 1, [](Communicator& group) {
      std::vector<float> values(10);
      group.all_reduce(values, Algorithm::ring);
    });
  });
}

// In a ring of four, rank 3 waits for rank 2, which waits for rank 1; only rank 0 does not come.
TEST(Communicator, TheRollIsCalledOverAllPeers) {
  expect_error(ErrorCode::device, "in a broadcast; missing: rank 0", [] {
    wait_without(4, 0, [](Communicator& group) {
      group.set_names([](int member) { return fmt::format("rank {}", member); });
      std::vector<std::byte> bytes(10);
      group.broadcast(bytes, 0);
    });
  });
  expect_error(ErrorCode::device, "in the exchange of tests; missing: node two", [] {
    wait_without(4, 2, [](Communicator& group) {
      group.set_names([](int member) { return member == 2 ? "node two" : "another"; });
      std::vector<float> values(100000);
      Exchange<float> exchange(group.transport(), 1, Algorithm::ring, std::ssize(values));
      exchange.start(values.data());
      group.wait_together([&] { return exchange.progress(); }, "the exchange of tests",
                          [&] { return exchange.waiting_for(); });
    });
  });
}

TEST(Communicator, AWaitOfOneNamesWhomItIsFor) {
  expect_error(ErrorCode::device, "rank 0 has waited 0.05 s for the post in a test", [] {
    run_ranks(
        1, [](Communicator& group) { group.wait([] { return false; }, "a test", [] { return "the post"; }); },
        std::chrono::milliseconds(50));
  });
}

TEST(Communicator, ItsWatchEndsALongWait) {
  expect_error(ErrorCode::device, "rank 1 has died", [] {
    run_ranks(2, [](Communicator& group) {
      if (group.rank() == 1) return;
      group.set_watch([] { fail(ErrorCode::device, "rank 1 has died"); });
      group.barrier();
    });
  });
}

TEST(Communicator, OfOneIsSilent) {
  const auto self = self_communicator();
  EXPECT_EQ(self->rank(), 0);
  EXPECT_EQ(self->size(), 1);
  std::vector<float> values = {1, 2};
  self->all_reduce(values, Algorithm::ring);
  EXPECT_EQ(values, (std::vector<float>{1, 2}));
  self->barrier();
  EXPECT_EQ(self->all_gather("a"), std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace lockring::dist
