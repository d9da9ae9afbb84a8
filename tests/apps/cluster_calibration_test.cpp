#include "apps/cluster/calibrate.h"
#include "apps/cluster/calibration.h"
#include "core/files.h"
#include "tests/distributed/thread_world.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

namespace lockring::app {
namespace {

Calibration small() {
  Calibration calibration;
  calibration.machines = {"a", "b"};
  calibration.table.replace({{4096, 2, 2, "ring", {{"ring", 1e-5}, {"halving-doubling", 2e-5}, {"mpi", 5e-6}}},
                             {1 << 20, 2, 2, "halving-doubling", {{"ring", 3e-3}, {"halving-doubling", 2e-3}}},
                             {4096, 4, 1, "mirrored", {{"mirrored", 1e-6}, {"ring", 3e-5}}}});
  calibration.cost.model = "mlp";
  calibration.cost.optimizer = "adam";
  calibration.cost.bytes = 1000;
  calibration.cost.compute = {{16, 1e-4}, {32, 1.5e-4}};
  calibration.cost.backward_share = 0.6;
  calibration.cost.latency_seconds = 2e-5;
  calibration.cost.burst_bytes = 65536;
  return calibration;
}

TEST(Calibration, IsReadAsItWasWritten) {
  const Calibration read = parse_calibration(to_text(small()), "text");
  EXPECT_EQ(read.machines, small().machines);
  EXPECT_TRUE(read.table.rows() == small().table.rows());
  EXPECT_TRUE(read.cost == small().cost);
}

TEST(Calibration, RefusesWhatIsNone) {
  const auto refused = [](std::string text, const std::string& from, const std::string& to, const std::string& part) {
    if (!from.empty()) text.replace(text.find(from), from.size(), to);
    expect_error(ErrorCode::data, part, [&] { parse_calibration(text, "there.json"); });
  };
  const std::string text = to_text(small());
  refused("", "", "", "there.json is not a calibration");
  refused("[]", "", "", "there.json is not a calibration");
  refused("{\"format\": 1}", "", "", "its format is not 2");
  refused(text, "\"bytes\": 4096", "\"bytes\": 0", "a row of 0 bytes");
  refused(text, "\"algorithm\": \"ring\"", "\"algorithm\": \"rong\"", "does not tell the time of 'rong'");
  refused(text, "\"images\": 32", "\"images\": 16", "do not ascend");
  refused(text, "\"latency_seconds\": 2e-05", "\"latency_seconds\": -1", "latency_seconds is -1");
  refused(text, "\"latency_seconds\": 2e-05", "\"latency_seconds\": null", "there.json is not");
}

TEST(AlgorithmTable, ChoosesByTheNearestSizeOfTheSameJob) {
  const AlgorithmTable table = small().table;
  EXPECT_EQ(table.choose(1, 2, 2), "ring");
  EXPECT_EQ(table.choose(60000, 2, 2), "ring");
  EXPECT_EQ(table.choose(70000, 2, 2), "halving-doubling");
  EXPECT_EQ(table.choose(1 << 30, 2, 2), "halving-doubling");
  EXPECT_EQ(table.choose(1 << 30, 4, 1), "mirrored");
  EXPECT_EQ(table.choose(4096, 3, 3), "") << "a job of another size";
  EXPECT_EQ(table.choose(4096, 2, 2, {"halving-doubling", "recursive-doubling"}), "halving-doubling");
  EXPECT_EQ(table.choose(4096, 2, 2, {"mirrored"}), "");
}

TEST(AlgorithmTable, ANewMeasurementTakesThePlaceOfTheOldOne) {
  AlgorithmTable table = small().table;
  table.replace({{64, 2, 2, "ring", {{"ring", 1}}}});
  EXPECT_EQ(table.rows().size(), 2);
  EXPECT_EQ(table.choose(1 << 20, 2, 2), "ring");
  EXPECT_EQ(table.choose(4096, 4, 1), "mirrored");
}

TEST(Calibration, AllRanksReadWhatTheFirstReads) {
  const TemporaryDirectory directory;
  write_file(directory / "table.json", to_text(small()));
  dist::run_machines(3, [&](dist::World& world) {
    // The others have no such file.
    const auto file = world.rank() == 0 ? directory / "table.json" : directory / "nothing";
    EXPECT_TRUE(read_calibration(file, world).cost == small().cost);
    expect_error(ErrorCode::data, "cannot", [&] { read_calibration(directory / "missing", world); });
  });
}

TEST(Calibrate, MeasuresAJobOfSeveralMachines) {
  std::vector<Calibration> seen(2);
  dist::run_machines(2, [&](dist::World& world) {
    const CalibrationOptions options{.model = "mlp", .replicas = 2, .most_bytes = 64 << 10, .seconds = 0.005};
    // Ranks that are threads have no library to compare with.
    seen[world.rank()] = calibrate(world, options, [](const std::string&) {});
  });
  const Calibration& found = seen[0];
  EXPECT_EQ(to_text(found), to_text(seen[1])) << "the same on all ranks";
  EXPECT_TRUE(to_text(parse_calibration(to_text(found), "")) == to_text(found));
  ASSERT_EQ(found.table.rows().size(), 3);
  for (const AlgorithmRow& row : found.table.rows()) {
    EXPECT_EQ(row.ranks, 2);
    EXPECT_EQ(row.hosts, 2);
    EXPECT_EQ(row.seconds.size(), 3);
    for (const auto& [name, seconds] : row.seconds) EXPECT_LE(row.seconds.at(row.algorithm), seconds) << name;
  }
  EXPECT_EQ(found.cost.model, "mlp");
  EXPECT_GT(found.cost.bytes, 1 << 20);
  EXPECT_GT(found.cost.compute.back().seconds, 0);
  EXPECT_GT(found.cost.update_seconds, 0);
  EXPECT_GT(found.cost.meeting_seconds + found.cost.memory_seconds_per_byte, 0);
  EXPECT_GT(found.cost.latency_seconds + found.cost.link_seconds_per_byte, 0);
}

}  // namespace
}  // namespace lockring::app
