#include "distributed/replica_sum.h"

#include "tests/distributed/thread_world.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

namespace lockring::dist {
namespace {

TEST(ReplicaSum, AddsUpAllReplicasOfAllMachines) {
  for (const auto& [machines, replicas] : {std::pair(1, 1), std::pair(1, 3), std::pair(2, 2), std::pair(3, 1)})
    run_machines(machines, [machines = machines, replicas = replicas](World& world) {
      MirroredGroup group(world, replicas);
      ReplicaSums sums(world, group, 100);
      const int all = machines * replicas;
      group.team().run([&](int replica) {
        const int place = group.job_first() + replica;
        for (int call = 0; call < 200; ++call) {
          std::vector<double> values(1 + call % 100, place + 0.5 * call);
          sums.of(replica).sum(values);
          for (const double value : values) ASSERT_EQ(value, all * (all - 1) / 2 + 0.5 * call * all);
        }
      });
    });
}

TEST(ReplicaSum, IsOneTreeWhereverTheReplicasAre) {
  const auto sum_on = [](int machines, int replicas) {
    double result = 0;
    run_machines(machines, [&](World& world) {
      MirroredGroup group(world, replicas);
      ReplicaSums sums(world, group, 1);
      group.team().run([&](int replica) {
        double value[] = {1.0 / (3 + 7 * (group.job_first() + replica))};
        sums.of(replica).sum(value);
        if (group.job_first() + replica == 0) result = value[0];
      });
    });
    return result;
  };
  EXPECT_EQ(sum_on(1, 4), sum_on(2, 2));
  EXPECT_EQ(sum_on(1, 4), sum_on(4, 1));
  EXPECT_EQ(sum_on(1, 8), sum_on(4, 2));
}

TEST(ReplicaSum, RefusesMoreThanFits) {
  expect_error(ErrorCode::other, "3 values are more than the 2 that fit", [] {
    run_machines(1, [](World& world) {
      MirroredGroup group(world, 1);
      ReplicaSums sums(world, group, 2);
      group.team().run([&](int replica) {
        std::vector<double> values(3);
        sums.of(replica).sum(values);
      });
    });
  });
}

}  // namespace
}  // namespace lockring::dist
