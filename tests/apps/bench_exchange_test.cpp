// `lockring bench exchange` of replicas in one process.
#include "tests/apps/captured_run.h"

#include <nlohmann/json.hpp>

namespace lockring::app {
namespace {

TEST(BenchExchange, MeasuresSumAndUpdate) {
  for (const char* algorithm : {"mirrored", "ring"}) {
    const CapturedRun run = captured_run(
        {"bench", "exchange", "--model", "lenet", "--allreduce", algorithm, "--seconds", "0.01", "--json"});
    ASSERT_EQ(run.code, 0) << run.err;
    const nlohmann::json figures = nlohmann::json::parse(run.out);
    EXPECT_EQ(figures["model"], "lenet");
    EXPECT_EQ(figures["algorithm"], algorithm);
    EXPECT_EQ(figures["replicas"], 1);
    EXPECT_GT(figures["time_us"], 0);
  }
}

TEST(BenchExchange, ReplicasOfOneProcessShareTheParameters) {
  const CapturedRun run = captured_run({"bench", "exchange", "--replicas", "3", "--seconds", "0.01", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out)["replicas"], 3);
}

TEST(BenchExchange, RefusesWhatCannotBe) {
  const auto refused = [](std::vector<std::string> more, const std::string& part) {
    more.insert(more.begin(), {"bench", "exchange"});
    const CapturedRun run = captured_run(more);
    EXPECT_EQ(run.code, 2) << run.err;
    EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
  };
  refused({"--allreduce", "ring", "--replicas", "2"}, "only mirrored knows replicas");
  refused({"--allreduce", "mpi"}, "there is no MPI");
  refused({"--model", "mlpp"}, "mlpp");
  refused({"--optimizer", "adamm"}, "adamm");
}

}  // namespace
}  // namespace lockring::app
