// Run by mpirun with one, two and four ranks.
#include "apps/job.h"
#include "tests/apps/job_training.h"

#include <gtest/gtest.h>

namespace lockring::app {
namespace {

class JobTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, JobTest, testing::Values("mlp", "cnn_bn"));

TEST_P(JobTest, RanksGiveTheBitsOfOneProcess) {
  EXPECT_EQ(job().size(), std::stoi(std::getenv("LOCKRING_TEST_RANKS")));
  const JobResult alone = train_in_job(nullptr, GetParam(), 2);
  const JobResult together = train_in_job(&job(), GetParam(), 4 / job().size());
  EXPECT_EQ(together.losses, alone.losses);
  EXPECT_EQ(together.correct, alone.correct);
  EXPECT_EQ(together.evaluated_loss, alone.evaluated_loss);
  EXPECT_TRUE(together.parameters == alone.parameters);
  EXPECT_TRUE(together.state == alone.state);
}

class LeaveJob : public testing::Environment {
  void TearDown() override { leave_job(); }
};
const auto* const kLeaveJob = testing::AddGlobalTestEnvironment(new LeaveJob);

}  // namespace
}  // namespace lockring::app
