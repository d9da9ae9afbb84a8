// `lockring bench allreduce` of replicas in one process.
#include "apps/cluster/calibration.h"
#include "core/files.h"
#include "tests/apps/captured_run.h"
#include "tests/support/temporary_directory.h"

#include <nlohmann/json.hpp>

namespace lockring::app {
namespace {

using Json = nlohmann::json;

TEST(BenchAllreduce, MeasuresReplicasThatShareMemory) {
  const CapturedRun run =
      captured_run({"bench", "allreduce", "--replicas", "3", "--bytes", "4K..64K", "--seconds", "0.01", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const Json rows = Json::parse(run.out);
  ASSERT_EQ(rows.size(), 3);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Json& row = rows[i];
    EXPECT_EQ(row["bytes"], 4096 << 2 * i);
    EXPECT_EQ(row["ranks"], 1);
    EXPECT_EQ(row["replicas"], 3);
    EXPECT_EQ(row["algorithm"], "mirrored");
    EXPECT_GT(row["time_us"], 0);
    EXPECT_NEAR(row["algbw_gbs"], row["bytes"].get<double>() / row["time_us"].get<double>() / 1e3, 1e-9);
    EXPECT_NEAR(row["busbw_gbs"], row["algbw_gbs"].get<double>() * 4 / 3, 1e-9);
  }
}

TEST(BenchAllreduce, PrintsATableForReaders) {
  const CapturedRun run = captured_run({"bench", "allreduce", "--replicas", "2", "--bytes", "4K", "--seconds", "0.01"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("1 ranks on 1 machines, 2 replicas in all; mirrored"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("        4096 "), std::string::npos) << run.out;
}

TEST(BenchAllreduce, ATableChoosesBySize) {
  const TemporaryDirectory directory;
  Calibration calibration;
  calibration.table.replace({{4096, 1, 1, "ring", {{"ring", 1e-6}, {"mirrored", 2e-6}}},
                             {65536, 1, 1, "mirrored", {{"ring", 2e-6}, {"mirrored", 1e-6}}}});
  calibration.cost.bytes = 1;
  calibration.cost.compute = {{1, 1}};
  write_file(directory / "table.json", to_text(calibration));
  const CapturedRun run = captured_run({"bench", "allreduce", "--allreduce-table", directory / "table.json", "--bytes",
                                        "4K..64K", "--seconds", "0.01", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const Json rows = Json::parse(run.out);
  EXPECT_EQ(rows[0]["algorithm"], "ring");
  EXPECT_EQ(rows[2]["algorithm"], "mirrored");
  EXPECT_EQ(captured_run({"bench", "allreduce", "--allreduce-table", directory / "none"}).code, 3);
}

TEST(BenchAllreduce, RefusesWhatCannotBe) {
  const auto expect_refused = [](std::vector<std::string> more, const std::string& part) {
    more.insert(more.begin(), {"bench", "allreduce"});
    const CapturedRun run = captured_run(more);
    EXPECT_EQ(run.code, 2) << run.err;
    EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
  };
  expect_refused({"--bytes", "2"}, "expected a size of at least 4");
  expect_refused({"--bytes", "4M..4K"}, "MIN..MAX");
  expect_refused({"--bytes", "4K..x"}, "--bytes");
  expect_refused({"--allreduce", "rign"}, "did you mean 'ring'?");
  expect_refused({"--allreduce", "ring", "--replicas", "2"}, "only mirrored and nccl know replicas");
  expect_refused({"--allreduce", "mpi"}, "there is no MPI");
  expect_refused({"--replicas", "0"}, "--replicas");
}

}  // namespace
}  // namespace lockring::app
