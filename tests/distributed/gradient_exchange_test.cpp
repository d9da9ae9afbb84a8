#include "distributed/gradient_exchange.h"

#include "core/rng.h"
#include "distributed/buckets.h"
#include "tests/distributed/thread_world.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace lockring::dist {
namespace {

using Slices = std::vector<Slice>;

TEST(Buckets, AreCutFromTheEndAtTheBordersOfTensors) {
  const Slices segments = {{0, 100}, {100, 300}, {300, 310}, {310, 400}};
  EXPECT_EQ(cut_buckets(segments, 400), (Slices{{300, 400}, {100, 300}, {0, 100}}));
  EXPECT_EQ(cut_buckets(segments, 1200), (Slices{{100, 400}, {0, 100}}));
  EXPECT_EQ(cut_buckets(segments, 1), (Slices{{310, 400}, {300, 310}, {100, 300}, {0, 100}}));
  EXPECT_EQ(cut_buckets(segments, 0), (Slices{{0, 400}}));
  const Slices buckets = cut_buckets(segments, 400);
  EXPECT_EQ(bucket_at(buckets, 399), 0);
  EXPECT_EQ(bucket_at(buckets, 299), 1);
  EXPECT_EQ(bucket_at(buckets, 0), 2);
  EXPECT_EQ(cut_buckets(segments, 1 << 30), (Slices{{0, 400}}));
  EXPECT_EQ(cut_buckets({}, 1), Slices{});
  expect_error(ErrorCode::usage, "buckets of -1 bytes", [&] { cut_buckets(segments, -1); });
}

TEST(Buckets, AreNeverMoreThanThereAreChannels) {
  Slices segments;
  for (std::int64_t i = 0; i < 5000; ++i) segments.push_back({16 * i, 16 * (i + 1)});
  const Slices buckets = cut_buckets(segments, 1);
  EXPECT_LE(std::ssize(buckets), kMostBuckets);
  std::int64_t end = 5000 * 16;
  for (const Slice& bucket : buckets) {
    EXPECT_EQ(bucket.end, end);
    end = bucket.begin;
  }
  EXPECT_EQ(end, 0);
}

constexpr std::int64_t kTail = 4;  // numbers a machine

// A machine with `replicas` threads, a gradient arena each, of tensors of the sizes given.
struct Machine {
  Machine(World& world, int replicas, const std::vector<std::int64_t>& sizes, GradientPlan plan)
      : group(world, replicas), tail(static_cast<std::size_t>(kTail * world.size())) {
    std::int64_t at = 0;
    for (const std::int64_t size : sizes) {
      plan.segments.push_back({at, at + size});
      plan.arrive.push_back(plan.segments.size() % 3 != 0);
      at += size;
    }
    segments = plan.segments;
    arrive = plan.arrive;
    gradients.assign(replicas, std::vector<float>(static_cast<std::size_t>(at)));
    sums.resize(static_cast<std::size_t>(at));
    const auto add_up = [this](Slice slice) {
      added += slice.size();
      for (std::int64_t i = slice.begin; i < slice.end; ++i) {
        sums[i] = 0;
        for (const std::vector<float>& gradient : gradients) sums[i] += gradient[i];
      }
    };
    const std::int64_t own = kTail * world.rank();
    exchange = std::make_unique<GradientExchange>(world, group, plan,
                                                  GradientMemory{sums.data(), add_up, tail, {own, own + kTail}});
  }

  MirroredGroup group;
  std::vector<double> tail;
  std::vector<Slice> segments;
  std::vector<bool> arrive;
  std::vector<std::vector<float>> gradients;
  std::vector<float> sums;
  std::int64_t added = 0;
  std::unique_ptr<GradientExchange> exchange;
};

// As a backward pass does: from the last tensor; every seventh gradient never comes, the rest is told or not.
void compute(Machine& machine, int replica, float value, bool tells) {
  GradientExchange& exchange = *machine.exchange;
  exchange.begin(replica);
  std::ranges::fill(machine.gradients[replica], value);
  if (tells) exchange.begin_last_backward(replica);
  for (auto i = std::ssize(machine.segments) - 1; i >= 0 && tells; --i) {
    if (!machine.arrive[i] || i % 7 == 6) continue;
    exchange.complete(replica, machine.segments[i].begin);
    if (replica == 0) exchange.poll();
  }
  exchange.complete_all(replica);
}

struct Case {
  int machines;
  int replicas;
  Algorithm algorithm;
  std::int64_t bucket_bytes;
  bool overlap;
};

class GradientExchangeTest : public testing::TestWithParam<Case> {};

TEST_P(GradientExchangeTest, AddsUpAllReplicasOfAllMachines) {
  const auto [machines, replicas, algorithm, bucket_bytes, overlap] = GetParam();
  const std::vector<std::int64_t> sizes = {1000, 16, 70000, 32, 5000, 16, 200, 30000, 16};
  run_machines(machines, [&](World& world) {
    Machine machine(world, replicas, sizes, {.algorithm = algorithm, .bucket_bytes = bucket_bytes});
    machine.exchange->set_overlap(overlap);
    for (int step = 1; step <= 5; ++step) {
      std::fill_n(machine.tail.begin() + kTail * world.rank(), kTail, 10.0 * step + world.rank());
      machine.group.team().run([&](int replica) {
        // Steps in which one machine has nothing to compute, and so nothing to tell.
        const bool tells = step % 3 != 0 || world.rank() != 0;
        compute(machine, replica, static_cast<float>(step * (world.rank() + 1) + replica), tells);
        machine.group.team().meet(replica);
        if (replica == 0) machine.exchange->finish();
        machine.group.team().meet(replica);
      });
      const int per_replica = step * machines * (machines + 1) / 2;
      const auto expected = static_cast<float>(replicas * per_replica + machines * replicas * (replicas - 1) / 2);
      for (const float sum : machine.sums) ASSERT_EQ(sum, expected);
      for (int rank = 0; rank < machines; ++rank) ASSERT_EQ(machine.tail[kTail * rank + 1], 10.0 * step + rank);
      EXPECT_EQ(machine.added, step * std::ssize(machine.sums)) << "each element once";
    }
  });
}

INSTANTIATE_TEST_SUITE_P(
    , GradientExchangeTest,
    testing::Values(Case{2, 1, Algorithm::ring, 0, true}, Case{2, 1, Algorithm::ring, 4096, true},
                    Case{2, 2, Algorithm::ring, 1 << 16, true}, Case{3, 1, Algorithm::ring, 1, true},
                    Case{4, 2, Algorithm::halving_doubling, 1 << 14, true}, Case{2, 3, Algorithm::ring, 4096, false}),
    [](const auto& info) {
      const Case& c = info.param;
      return fmt::format("{}_machines_of_{}_by_{}{}", c.machines, c.replicas, c.bucket_bytes, c.overlap ? "" : "_late");
    });

TEST(GradientExchange, StartsWhatIsCompleteBeforeTheEnd) {
  run_machines(2, [](World& world) {
    Machine machine(world, 1, {1000, 1000, 100000}, {.bucket_bytes = 1});
    GradientExchange& exchange = *machine.exchange;
    exchange.begin(0);
    exchange.complete(0, machine.segments[1].begin);
    exchange.poll();
    EXPECT_EQ(machine.added, 0) << "in order, from the last tensor";
    exchange.begin_last_backward(0);  // nobody tells of the last tensor: it is there now
    exchange.poll();
    EXPECT_EQ(machine.added, 101000);
    exchange.complete(0, machine.segments[0].begin);
    exchange.poll();
    EXPECT_EQ(machine.added, 102000);
    exchange.complete_all(0);
    exchange.finish();
  });
}

TEST(GradientExchange, AMissingMachineIsNamed) {
  expect_error(ErrorCode::device, "in the exchange of gradients; missing: rank 1 on ", [] {
    run_machines(2, [](World& world) {
      Machine machine(world, 1, {16, 1000}, {});
      world.set_timeout(std::chrono::milliseconds(300));
      if (world.rank() == 1) return;
      machine.exchange->begin(0);
      machine.exchange->complete_all(0);
      machine.exchange->finish();
    });
  });
}

TEST(GradientExchange, Bf16RoundsTheSameOnEveryMachine) {
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::halving_doubling})
    for (const int machines : {2, 3, 4, 5}) {
      std::vector<std::vector<float>> results(machines);
      run_machines(machines, [&](World& world) {
        Machine machine(world, 1, {1000, 90000}, {.algorithm = algorithm, .wire = Wire::bf16, .bucket_bytes = 1});
        Rng rng(3, RngStream::test, static_cast<std::uint64_t>(world.rank()));
        machine.exchange->begin(0);
        for (float& value : machine.gradients[0]) value = rng.uniform(-1, 1);
        machine.gradients[0][5] = 1e30F;
        machine.gradients[0][6] = world.rank() == 1 ? std::nanf("") : 1.0F;
        machine.exchange->complete_all(0);
        machine.exchange->finish();
        results[world.rank()] = machine.sums;
      });
      std::vector<double> exact(results[0].size());
      for (int rank = 0; rank < machines; ++rank) {
        Rng rng(3, RngStream::test, static_cast<std::uint64_t>(rank));
        for (double& value : exact) value += rng.uniform(-1, 1);
      }
      for (const std::vector<float>& result : results)
        ASSERT_EQ(std::memcmp(result.data(), results[0].data(), result.size() * 4), 0) << to_string(algorithm);
      EXPECT_NEAR(results[0][5] / (1e30 * machines), 1, 0.02) << "the range is a float's";
      EXPECT_TRUE(std::isnan(results[0][6]));
      // A partial sum is rounded by at most 2^-9 of it each time that it is sent.
      for (std::size_t i = 7; i < exact.size(); ++i) ASSERT_NEAR(results[0][i], exact[i], machines * machines / 512.0);
    }
}

}  // namespace
}  // namespace lockring::dist
