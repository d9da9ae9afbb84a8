// Run by mpirun with one to four ranks: every rank runs every test, in the same order.
#include "core/rng.h"
#include "distributed/mirrored_group.h"
#include "distributed/world.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <numeric>

namespace lockring::dist {
namespace {

World& world() {
  static const std::unique_ptr<World> world = open_world();
  return *world;
}

int expected_size() { return std::stoi(std::getenv("LOCKRING_TEST_RANKS")); }

TEST(MpiWorld, KnowsWhoIsWhere) {
  EXPECT_EQ(world().size(), expected_size());
  EXPECT_EQ(world().nodes(), 1);
  EXPECT_EQ(world().node().size(), expected_size());
  EXPECT_EQ(world().across().size(), 1);
  EXPECT_EQ(world().name().empty(), expected_size() == 1);
  EXPECT_NE(world().mpi_version(), "");
  for (int rank = 0; rank < world().size(); ++rank) EXPECT_EQ(world().host(rank), world().host(0));
}

TEST(MpiWorld, AllAlgorithmsAgreeOnEveryRank) {
  const int size = world().size();
  for (const std::int64_t elements : {1, 7, 1000, 65537, 1000000}) {
    std::vector<float> whole(static_cast<std::size_t>(elements));
    std::iota(whole.begin(), whole.end(), static_cast<float>(world().rank()));
    for (const Algorithm algorithm : {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::halving_doubling}) {
      std::vector<float> values = whole;
      world().all().all_reduce(values, algorithm);
      for (std::int64_t i = 0; i < elements; i += 97)
        ASSERT_EQ(values[i], static_cast<float>(size * i + size * (size - 1) / 2)) << to_string(algorithm) << " " << i;
    }
    if (size == 1) continue;
    world().all().all_reduce(whole, Algorithm::mpi);
    EXPECT_EQ(whole[0], static_cast<float>(size * (size - 1) / 2));
  }
}

// LOCKRING_STRESS=100000 asks for so many.
TEST(MpiWorld, ManyExchangesOfRandomSizesInARow) {
  const char* asked = std::getenv("LOCKRING_STRESS");
  const int count = asked != nullptr ? std::stoi(asked) : 2000;
  Rng sizes(7, RngStream::test);  // the same on every rank
  for (int i = 0; i < count; ++i) {
    const std::uint64_t most = i % 100 == 0 ? 300000 : i % 10 == 0 ? 20000 : 1000;
    std::vector<float> values(1 + sizes.below(most), static_cast<float>(world().rank() + i % 7));
    world().all().all_reduce(values, i % 2 == 0 ? Algorithm::ring : Algorithm::halving_doubling);
    const int size = world().size();
    const auto expected = static_cast<float>(size * (size - 1) / 2 + size * (i % 7));
    for (const float value : values) ASSERT_EQ(value, expected) << "exchange " << i;
  }
}

TEST(MpiWorld, SharesZeroedMemory) {
  const auto memory = world().share(1 << 20);
  ASSERT_NE(memory, nullptr);
  for (std::int64_t i = 0; i < 1 << 20; i += 4096) ASSERT_EQ(memory.get()[i], std::byte{0});
  world().node().barrier();
  memory.get()[world().rank()] = static_cast<std::byte>(world().rank() + 1);
  world().node().barrier();
  for (int rank = 0; rank < world().size(); ++rank) EXPECT_EQ(memory.get()[rank], static_cast<std::byte>(rank + 1));
}

TEST(MpiWorld, MoreMemoryThanThereIsIsRefusedOnAllRanks) { EXPECT_EQ(world().share(std::int64_t{1} << 50), nullptr); }

TEST(MpiWorld, ReplicasOfAllRanksMeet) {
  MirroredGroup group(world(), 2);
  EXPECT_EQ(group.size(), 2 * world().size());
  EXPECT_EQ(group.first(), 2 * world().rank());
  const auto memory = group.allocate(64);
  auto* sum = reinterpret_cast<std::atomic<int>*>(memory.get());
  group.team().run([&](int replica) {
    for (int round = 1; round <= 100; ++round) {
      ++*sum;
      group.team().meet(replica);
      EXPECT_EQ(*sum, round * group.size());
      group.team().meet(replica);
    }
  });
}

}  // namespace
}  // namespace lockring::dist
