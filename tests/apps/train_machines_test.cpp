// Training on several machines, each a thread here: what they exchange must not show in the bits.
#include "tests/apps/job_training.h"
#include "tests/distributed/thread_world.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockring::app {
namespace {

class MachinesTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, MachinesTest, testing::Values("mlp", "cnn_bn", "cnn_dropout"));

// On `machines` of so many replicas each; what every machine ends with.
std::vector<JobResult> on_machines(int machines, const std::string& model, int replicas, dist::Algorithm exchange) {
  std::vector<JobResult> results(machines);
  dist::run_machines(
      machines, [&](dist::World& world) { results[world.rank()] = train_in_job(&world, model, replicas, exchange); });
  return results;
}

TEST_P(MachinesTest, FourShardsGiveTheSameBitsOnAnyPlacement) {
  const JobResult alone = train_in_job(nullptr, GetParam(), 1);
  for (const auto& [machines, replicas] : {std::pair(2, 1), std::pair(2, 2), std::pair(4, 1)})
    for (const JobResult& result : on_machines(machines, GetParam(), replicas, dist::Algorithm::halving_doubling))
      EXPECT_TRUE(result == alone) << machines << " machines, " << replicas << " replicas";
}

TEST_P(MachinesTest, TheRingGivesEveryMachineTheSameBits) {
  const JobResult alone = train_in_job(nullptr, GetParam(), 1);
  const std::vector<JobResult> results = on_machines(4, GetParam(), 1, dist::Algorithm::ring);
  for (const JobResult& result : results) EXPECT_TRUE(result == results[0]);
  for (std::size_t i = 0; i < alone.losses.size(); ++i)
    EXPECT_NEAR(results[0].losses[i], alone.losses[i], 1e-3 * std::abs(alone.losses[i]));
}

TEST(Machines, RefuseShardsThatDoNotDivide) {
  expect_error(ErrorCode::usage, "--shards 4 is not a multiple of the 3 replicas",
               [] { on_machines(3, "mlp", 1, dist::Algorithm::ring); });
}

}  // namespace
}  // namespace lockring::app
