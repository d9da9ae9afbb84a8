// Training on several machines, each a thread here: what they exchange must not show in the bits.
#include "tests/apps/job_training.h"
#include "tests/distributed/thread_world.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <cmath>

namespace lockring::app {
namespace {

using Change = std::function<void(TrainerOptions&)>;

class MachinesTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, MachinesTest, testing::Values("mlp", "cnn_bn", "cnn_dropout"));

// On `machines` of so many replicas each; what every machine ends with.
std::vector<JobResult> on_machines(int machines, const std::string& model, int replicas, const Change& change = {}) {
  std::vector<JobResult> results(machines);
  dist::run_machines(
      machines, [&](dist::World& world) { results[world.rank()] = train_in_job(&world, model, replicas, change); });
  return results;
}

void expect_near(const JobResult& result, const JobResult& expected, double tolerance) {
  for (std::size_t i = 0; i < expected.losses.size(); ++i)
    EXPECT_NEAR(result.losses[i], expected.losses[i], tolerance * std::abs(expected.losses[i]));
}

TEST_P(MachinesTest, FourShardsGiveTheSameBitsOnAnyPlacement) {
  const JobResult alone = train_in_job(nullptr, GetParam(), 1);
  for (const auto& [machines, replicas] : {std::pair(2, 1), std::pair(2, 2), std::pair(4, 1)})
    for (const JobResult& result : on_machines(machines, GetParam(), replicas))
      EXPECT_TRUE(result == alone) << machines << " machines, " << replicas << " replicas";
}

TEST_P(MachinesTest, BucketsDoNotShowInTheBits) {
  const JobResult alone = train_in_job(nullptr, GetParam(), 1);
  for (const std::int64_t bytes : {0, 1, 4096, 1 << 20})
    for (const JobResult& result : on_machines(2, GetParam(), 2, [&](auto& o) { o.bucket_bytes = bytes; }))
      EXPECT_TRUE(result == alone) << bytes;
}

TEST_P(MachinesTest, TheRingGivesEveryMachineTheSameBits) {
  const JobResult alone = train_in_job(nullptr, GetParam(), 1);
  const auto ring = [](TrainerOptions& o) { o.exchange = dist::Algorithm::ring; };
  const std::vector<JobResult> results = on_machines(4, GetParam(), 1, ring);
  for (const JobResult& result : results) EXPECT_TRUE(result == results[0]);
  expect_near(results[0], alone, 1e-3);
}

TEST_P(MachinesTest, HalfTheBytesGiveAlmostTheSameTraining) {
  const JobResult alone = train_in_job(nullptr, GetParam(), 1);
  const std::vector<JobResult> results = on_machines(4, GetParam(), 1, [](auto& o) { o.wire = dist::Wire::bf16; });
  for (const JobResult& result : results) EXPECT_TRUE(result == results[0]);
  expect_near(results[0], alone, 0.03);
  EXPECT_FALSE(results[0] == alone);
}

TEST(Machines, RefuseShardsThatDoNotDivide) {
  expect_error(ErrorCode::usage, "--shards 4 is not a multiple of the 3 replicas", [] { on_machines(3, "mlp", 1); });
}

}  // namespace
}  // namespace lockring::app
