#include "apps/cluster/failed_hosts.h"

#include <gtest/gtest.h>

namespace lockring::app {
namespace {

std::vector<HostFailure> failures_in(const std::vector<std::string>& lines) {
  FailureScan scan;
  for (const std::string& line : lines) scan.line(line);
  return scan.failures();
}

using Failures = std::vector<HostFailure>;

TEST(FailedHosts, OfARankThatWasKilled) {
  EXPECT_EQ(failures_in({"-----",
                         "mpirun noticed that process rank 1 with PID 4711 on node node7 exited on signal 9 (Killed).",
                         "-----"}),
            (Failures{{"node7", "rank 1 was ended by signal 9"}}));
  EXPECT_EQ(
      failures_in({"mpiexec noticed that process rank 0 with PID 0 on node a exited on signal 11 (Segmentation)."}),
      (Failures{{"a", "rank 0 was ended by signal 11"}}));
}

TEST(FailedHosts, OfADaemonThatIsLost) {
  EXPECT_EQ(
      failures_in({"ORTE has lost communication with a remote daemon.", "",
                   "  HNP daemon   : [[61273,0],0] on node head", "  Remote daemon: [[61273,0],2] on node node3"}),
      (Failures{{"node3", "mpirun lost its daemon there"}}));
}

TEST(FailedHosts, OfHostsThatCannotBeReached) {
  EXPECT_EQ(failures_in({"ssh: connect to host 10.0.0.9 port 22: No route to host",
                         "ssh: Could not resolve hostname nowhere: Name or service not known"}),
            (Failures{{"10.0.0.9", "ssh: No route to host"}, {"nowhere", "ssh: Name or service not known"}}));
}

TEST(FailedHosts, EachOnce) {
  const std::string line = "Remote daemon: [[1,0],2] on node n";
  EXPECT_EQ(failures_in({line, line}).size(), 1);
}

TEST(FailedHosts, ThoseWhoComplainAreNotTheOnes) {
  EXPECT_EQ(failures_in({"lockring: rank 0 on node1: a replica of another process has failed",
                         "lockring: rank 2 on node3: the loss is not finite at step 7", std::string(100000, 'x'), ""}),
            Failures());
}

}  // namespace
}  // namespace lockring::app
