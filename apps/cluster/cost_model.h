// What a step of training costs on any number of machines, from what its parts cost on one machine and one link.
//
//   step = compute + update / replicas + node tier + what backward does not hide of the exchange between machines
//
// The terms are those of Thakur, Rabenseifner and Gropp (distributed/schedule.h); docs/distributed.md says how well
// they predict. Stragglers, other traffic and congestion are not in it.
#pragma once

#include "distributed/schedule.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockring::app {

// Seconds that a replica takes for its shard of a batch, all but the update.
struct ComputeCost {
  std::int64_t images = 0;
  double seconds = 0;

  bool operator==(const ComputeCost&) const = default;
};

struct CostModel {
  std::string model;                 // architecture that compute was measured with
  std::string optimizer;             // and that the update was
  std::int64_t bytes = 0;            // of its parameters, as gradients travel
  std::vector<ComputeCost> compute;  // by images, ascending; at least one
  double backward_share = 0;         // of compute
  double update_seconds = 0;         // the optimizer on all parameters, by one replica
  double meeting_seconds = 0;        // of the replicas of a machine
  double memory_seconds_per_byte = 0;
  // Between machines: of a message, and of a byte of it.
  double latency_seconds = 0;
  double link_seconds_per_byte = 0;
  // A link that is shaped by a token bucket, as clouds do it: so many bytes that were not used in a pause go at once,
  // at this speed. 0: there are none.
  double burst_bytes = 0;
  double burst_seconds_per_byte = 0;

  bool operator==(const CostModel&) const = default;
};

// A job to be predicted.
struct JobShape {
  int hosts = 1;
  int replicas = 1;         // of each host, whatever ranks they are in
  int cores = 0;            // that the replicas of all hosts share, where one machine plays them; 0: a core for each
  std::int64_t shard = 64;  // images a replica and step
  std::int64_t last_micro_batch = 0;  // images in whose backward pass the gradients become ready; 0: the whole shard
  std::vector<std::int64_t> buckets = {};  // bytes of each that is sent while backward goes on; none: all, after it
  std::optional<dist::Algorithm> exchange = std::nullopt;  // the usual one
};

struct StepCost {
  dist::Algorithm exchange_algorithm = dist::Algorithm::ring;
  double compute = 0;  // all in seconds
  double update = 0;
  double node = 0;
  double exchange = 0;  // from the first byte to the last
  double exposed = 0;   // the part of it that backward does not hide, with the bytes saved up since the last step
  double step() const { return compute + update + node + exposed; }
};

struct TimeOfBytes {
  std::int64_t bytes = 0;
  double seconds = 0;
};

// seconds = fixed + slope * bytes
struct Line {
  double fixed = 0;
  double slope = 0;
};

// The line whose relative errors have the least sum of squares, so that short messages count as much as long ones;
// neither part is below 0. At least two times above 0, of different bytes.
Line fit_line(const std::vector<TimeOfBytes>& times);

// What the times of ring all-reduces after a pause, of ascending bytes, say about bursts, with the sustained costs of
// the link in `cost` and for the bursts to go there. At least two times.
void fit_burst(const std::vector<TimeOfBytes>& rested, int hosts, CostModel& cost);

// What one all-reduce sends over each link.
struct Traffic {
  double messages = 0;  // one after the other
  double bytes = 0;     // one way
};
Traffic traffic_of(dist::Algorithm algorithm, int hosts, std::int64_t bytes);

// For `images`, between and beyond those that were measured.
double compute_seconds(const CostModel& model, std::int64_t images);
// Of one all-reduce between hosts, where another has just gone before it.
double exchange_seconds(const CostModel& model, dist::Algorithm algorithm, int hosts, std::int64_t bytes);
// What `auto` means: the cheaper of ring and halving-doubling on a usual network, whatever this one is like, so that
// the same command gives the same bits everywhere.
dist::Algorithm usual_exchange(int hosts, std::int64_t bytes);
StepCost predict_step(const CostModel& model, const JobShape& job);

}  // namespace lockring::app
