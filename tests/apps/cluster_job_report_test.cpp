#include "apps/cluster/job_report.h"
#include "apps/program.h"
#include "tests/support/errors.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace lockring::app {
namespace {

RankReport rank(int number, int machine, const std::string& cores, int usable) {
  return {.rank = number,
          .machine = machine,
          .host = machine == 0 ? "a" : "b",
          .version = std::string(version()),
          .cores = cores,
          .usable_cores = usable,
          .hardware_threads = 4,
          .replicas = usable,
          .shared_memory_total = 64 << 20,
          .shared_memory_free = 64 << 20,
          .memory_available = std::int64_t{4} << 30,
          .interfaces = {}};
}

JobReport two_machines() {
  JobReport report;
  report.machines = 2;
  report.mpi_version = "Open MPI v4.1.4";
  report.thread_level = "serialized";
  report.model = "cnn";
  report.shared_bytes = 10 << 20;
  report.ranks = {rank(0, 0, "0-1", 2), rank(1, 0, "2-3", 2), rank(2, 1, "0-3", 4)};
  for (RankReport& one : report.ranks) one.interfaces = {{"eth0", "10.0.0.7", 1000, false}};
  report.node_links = {{0, 1, 1e-6, 8e9}};
  report.network_links = {{0, 2, 30e-6, 1.1e9}};
  return report;
}

bool warned(const JobReport& report, const std::string& part) {
  for (const std::string& warning : warnings_of(report))
    if (warning.find(part) != std::string::npos) return true;
  return false;
}

TEST(JobReport, ALineHoldsARank) {
  const RankReport report = two_machines().ranks[1];
  EXPECT_TRUE(parse_rank_report(to_line(report)) == report);
  expect_error(ErrorCode::device, "a rank's report cannot be read", [] { parse_rank_report("{}"); });
  expect_error(ErrorCode::device, "a rank's report cannot be read", [] { parse_rank_report("no JSON"); });
}

TEST(JobReport, AGoodJobGetsNoWarning) { EXPECT_EQ(warnings_of(two_machines()), std::vector<std::string>()); }

TEST(JobReport, WarnsOfCores) {
  JobReport report = two_machines();
  report.ranks[0] = rank(0, 0, "0", 1);
  report.ranks[1] = rank(1, 0, "1", 1);
  EXPECT_TRUE(warned(report, "a: each rank is bound to 1 of 4 hardware threads, of which 2 are used"));
  report.ranks[1] = rank(1, 0, "0", 1);
  EXPECT_TRUE(warned(report, "a: 2 ranks share 1 core (0)"));
}

TEST(JobReport, WarnsOfMemory) {
  JobReport report = two_machines();
  report.ranks[0].shared_memory_total = 1 << 20;
  report.ranks[2].memory_available = 1 << 20;
  EXPECT_TRUE(warned(report, "a: /dev/shm has 1 MiB, and MPI wants 8 MiB there for 2 ranks"));
  EXPECT_TRUE(warned(report, "b: 1 MiB of memory are available, and training cnn shares 10 MiB"));
}

TEST(JobReport, WarnsOfInterfacesThatLeadNowhereAndOfOtherPrograms) {
  JobReport report = two_machines();
  report.ranks[2].interfaces[0].name = "docker0";
  report.ranks[0].version = "0.0.1";
  EXPECT_TRUE(warned(report, "rank 2 on b sends over docker0"));
  EXPECT_TRUE(warned(report, "different versions of the program: 0.0.1, "));
}

TEST(JobReport, TextAndJsonTellTheSame) {
  JobReport report = two_machines();
  report.warnings = {"something"};
  const std::string text = job_text(report);
  for (const char* part :
       {"3 ranks on 2 machines; Open MPI v4.1.4, threads serialized", "eth0 (10.0.0.7, 1000 Mbit/s)", "0-1 of 4",
        "1.0 us, 8 GB/s", "30.0 us, 1.1 GB/s", "cnn shares 10 MiB", "WARNING: something"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  const nlohmann::json json = nlohmann::json::parse(job_json(report));
  EXPECT_EQ(json["machines"], 2);
  EXPECT_EQ(json["ranks"].size(), 3);
  EXPECT_EQ(json["ranks"][1]["cores"], "2-3");
  EXPECT_EQ(json["ranks"][1]["interfaces"][0]["name"], "eth0");
  EXPECT_NEAR(json["between_machines"][0]["latency_us"], 30, 1e-9);
  EXPECT_EQ(json["warnings"][0], "something");
}

}  // namespace
}  // namespace lockring::app
