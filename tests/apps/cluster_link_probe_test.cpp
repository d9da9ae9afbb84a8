#include "apps/cluster/link_probe.h"
#include "tests/distributed/thread_world.h"

#include <gtest/gtest.h>

#include <mutex>

namespace lockring::app {
namespace {

TEST(LinkProbe, EveryRankLearnsTheLinksBetweenNeighbours) {
  std::vector<std::vector<Link>> seen(3);
  dist::run_machines(3, [&](dist::World& world) {
    EXPECT_TRUE(probe_nodes(world).empty()) << "a machine of one rank";
    seen[world.rank()] = probe_network(world);
  });
  ASSERT_EQ(seen[0].size(), 2);
  for (const std::vector<Link>& links : seen) EXPECT_TRUE(links == seen[0]);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(seen[0][i].from, i);
    EXPECT_EQ(seen[0][i].to, i + 1);
    EXPECT_GT(seen[0][i].latency_seconds, 0);
    EXPECT_GT(seen[0][i].bytes_per_second, 0);
  }
}

TEST(LinkProbe, AMachineAloneHasNoLinks) {
  const std::unique_ptr<dist::World> world = dist::alone();
  EXPECT_TRUE(probe_nodes(*world).empty());
  EXPECT_TRUE(probe_network(*world).empty());
}

}  // namespace
}  // namespace lockring::app
