#include "apps/cluster/calibration.h"
#include "apps/machine.h"
#include "core/devices.h"
#include "core/files.h"
#include "distributed/device_communicator.h"
#include "distributed/world.h"
#include "tests/apps/captured_run.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lockring::app {
namespace {

TEST(Doctor, JsonHoldsTheMachine) {
  const CapturedRun run = captured_run({"doctor", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const nlohmann::json report = nlohmann::json::parse(run.out);
  EXPECT_EQ(report["version"], version());
  EXPECT_FALSE(report["cpu"].get<std::string>().empty());
  EXPECT_GE(report["usable_cores"], 1);
  EXPECT_GE(report["hardware_threads"], report["usable_cores"]);
  EXPECT_GT(report["memory_bytes"]["total"], report["memory_bytes"]["available"]);
  EXPECT_GT(report["peak_gflops"]["one_core"], 1);
  EXPECT_GT(report["memory_gb_per_second"]["all_cores"], 0.01);
  EXPECT_EQ(report["optional"]["MPI"], dist::mpi_library().empty() ? "not in this build" : dist::mpi_library());
  EXPECT_TRUE(report["libraries"].contains("zlib"));
  EXPECT_EQ(report["gpus"]["devices"].size(), static_cast<std::size_t>(gpu_count()));
  EXPECT_EQ(report["gpus"]["missing"].get<std::string>().empty(), gpu_count() > 0);
  EXPECT_EQ(report["gpus"]["nccl"], dist::nccl_version());
}

TEST(Doctor, TextFitsOneScreen) {
  const CapturedRun run = captured_run({"doctor"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_LE(std::count(run.out.begin(), run.out.end(), '\n'), 40);
  for (const char* part : {"instruction set", "affinity mask", "GFLOP/s", "/dev/shm", "GPUs", "CUDA", "OpenSSL"}) {
    EXPECT_NE(run.out.find(part), std::string::npos) << part;
  }
}

TEST(Doctor, CalibratesAProcessAlone) {
  const TemporaryDirectory directory;
  const std::string file = directory / "one.json";
  const CapturedRun run =
      captured_run({"doctor", "--calibrate", file, "--model", "lenet", "--replicas", "2", "--seconds", "0.002"});
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_NE(run.out.find("written to " + file), std::string::npos) << run.out;
  const Calibration stored = read_calibration(file);
  EXPECT_EQ(stored.table.choose(4096, 1, 1), "mirrored");
  EXPECT_EQ(stored.cost.model, "lenet");
  EXPECT_EQ(captured_run({"doctor", "--calibrate", directory / "no folder/x.json"}).code, 2);
  write_file(file, "{}");
  EXPECT_EQ(captured_run({"doctor", "--calibrate", file}).code, 3) << "something else is not overwritten";
}

TEST(Machine, NumbersAsRanges) {
  EXPECT_EQ(ranges_text({}), "");
  EXPECT_EQ(ranges_text({3}), "3");
  EXPECT_EQ(ranges_text({0, 1, 2, 3}), "0-3");
  EXPECT_EQ(ranges_text({0, 1, 4, 8, 9}), "0-1,4,8-9");
}

}  // namespace
}  // namespace lockring::app
