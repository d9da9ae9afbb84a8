// What a job under mpirun is made of: its ranks, where they run, what carries their messages and how fast, and what
// looks wrong. For `lockring doctor`.
#pragma once

#include "apps/cluster/link_probe.h"
#include "apps/cluster/network.h"
#include "distributed/world.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lockring::app {

struct RankReport {
  int rank = 0;
  int machine = 0;
  std::string host;
  std::string version;  // of the program
  std::string cores;    // that it may use: "0-3,8"
  int usable_cores = 0;
  int hardware_threads = 0;              // of its machine
  int replicas = 0;                      // that training starts there by default
  std::int64_t shared_memory_total = 0;  // /dev/shm, bytes
  std::int64_t shared_memory_free = 0;
  std::int64_t memory_available = 0;
  std::vector<NetworkInterface> interfaces;  // that carry its messages

  bool operator==(const RankReport&) const = default;
};

struct JobReport {
  int machines = 1;
  std::string mpi_version;
  std::string thread_level;
  std::vector<RankReport> ranks;
  std::vector<Link> node_links;
  std::vector<Link> network_links;
  // Bytes that one machine's ranks share in training a model, at most over the machines.
  std::string model;
  std::int64_t shared_bytes = 0;
  std::vector<std::string> warnings;
};

// By all ranks at the same time, which get the same; `model` names the architecture to say the memory of.
JobReport report_job(dist::World& world, const std::string& model);

// What looks wrong in all the rest.
std::vector<std::string> warnings_of(const JobReport& report);
std::string job_text(const JobReport& report);
std::string job_json(const JobReport& report);

// A rank's line to the others, and back. Throws Error{device} on text that to_line() did not give.
std::string to_line(const RankReport& report);
RankReport parse_rank_report(const std::string& line);

}  // namespace lockring::app
