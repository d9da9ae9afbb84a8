#include "apps/cluster/calibrate.h"

#include "apps/cluster/compute_probe.h"
#include "apps/cluster/model_cost.h"
#include "apps/cluster/timed_all_reduce.h"
#include "core/error.h"

#include <algorithm>

namespace lockring::app {
namespace {

constexpr std::int64_t kLeastBytes = 4 << 10;
constexpr std::int64_t kMostBurst = 4 << 20;  // bytes after a pause that are measured

AlgorithmRow row_of(dist::World& world, std::int64_t bytes, std::map<std::string, double> seconds) {
  AlgorithmRow row{bytes, world.size(), world.nodes(), "", std::move(seconds)};
  // The library's bits are its own affair, so it is measured and never chosen.
  for (const auto& [name, time] : row.seconds)
    if (name != "mpi" && (row.algorithm.empty() || time < row.seconds[row.algorithm])) row.algorithm = name;
  return row;
}

// Within one machine over all ranks; between machines as training does it, each rank of a machine with its part.
std::vector<AlgorithmRow> measure_all_reduces(dist::World& world, dist::MirroredGroup& group,
                                              const CalibrationOptions& options) {
  std::vector<AlgorithmRow> rows;
  const bool one = world.nodes() == 1;
  dist::Communicator& ranks = one ? world.all() : world.across();
  const int lanes = one ? 1 : std::ranges::min(world.node_sizes());
  for (std::int64_t bytes = kLeastBytes; bytes <= options.most_bytes; bytes *= 4) {
    std::map<std::string, double> seconds;
    if (one) seconds["mirrored"] = time_mirrored(world, group, bytes / 4, options.seconds);
    if (world.size() > 1) {
      // A rank without a fellow on every machine only waits.
      const std::int64_t elements = one || world.node().rank() < lanes ? bytes / 4 / lanes : 0;
      for (const char* name : {"ring", "recursive-doubling", "halving-doubling"})
        seconds[name] = time_messages(world, ranks, name, elements, options.seconds);
      if (world.thread_level() != "none")
        seconds["mpi"] = time_messages(world, ranks, "mpi", bytes / 4, options.seconds);
    }
    rows.push_back(row_of(world, bytes, std::move(seconds)));
  }
  return rows;
}

// The mirrored group's meetings and the memory it moves sums through, from a short and a long vector.
void measure_node(dist::World& world, dist::MirroredGroup& group, const CalibrationOptions& options, CostModel& cost) {
  if (group.job_size() == world.nodes()) return;  // one replica a machine: nobody meets
  std::vector<TimeOfBytes> times;
  for (const std::int64_t bytes : {kLeastBytes, options.most_bytes / 16, options.most_bytes})
    times.push_back({bytes, time_mirrored(world, group, bytes / 4, options.seconds)});
  const Line line = fit_line(times);
  constexpr int kMeetings = 2;
  cost.meeting_seconds = line.fixed / kMeetings;
  cost.memory_seconds_per_byte = line.slope / (group.size() + 1);
}

// The ring's times say what messages and the link between machines cost; what it gains after a pause, whether the link
// is shaped by a token bucket.
void measure_network(dist::World& world, const std::vector<AlgorithmRow>& rows, const CalibrationOptions& options,
                     CostModel& cost) {
  const int hosts = world.nodes();
  if (hosts == 1) return;
  std::vector<TimeOfBytes> times;
  for (const AlgorithmRow& row : rows) times.push_back({row.bytes, row.seconds.at("ring")});
  const Line line = fit_line(times);
  cost.latency_seconds = line.fixed / (2 * (hosts - 1));
  cost.link_seconds_per_byte = line.slope * hosts / (2 * (hosts - 1));

  const int lanes = std::ranges::min(world.node_sizes());
  std::vector<TimeOfBytes> rested;
  for (std::int64_t bytes = kLeastBytes; bytes <= std::min(options.most_bytes, kMostBurst); bytes *= 4) {
    const std::int64_t elements = world.node().rank() < lanes ? bytes / 4 / lanes : 0;
    rested.push_back({bytes, time_rested(world, world.across(), "ring", elements, options.seconds / 2)});
  }
  fit_burst(rested, hosts, cost);
}

// On the first machine only: machines are taken to be alike, and emulated ones share their processors.
void measure_compute(dist::World& world, const CalibrationOptions& options, CostModel& cost) {
  const models::Architecture& architecture = models::find_architecture(options.model);
  constexpr std::int64_t kShards[] = {16, 32, 64, 128};
  std::vector<double> times(std::size(kShards) + 1);
  const bool measures = world.node_index() == 0;
  for (std::size_t i = 0; measures && i < std::size(kShards); ++i) {
    const ComputeTime time =
        time_compute(architecture, {}, options.optimizer, kShards[i], options.replicas, 2 * options.seconds);
    times[i] = time.step;
    times.back() = time.update;
  }
  // The slowest rank counts.
  for (double& time : times) {
    double slowest = 0;
    for (const std::string& text : world.all().all_gather(fmt::format("{}", time)))
      slowest = std::max(slowest, std::stod(text));
    time = slowest;
  }
  for (std::size_t i = 0; i < std::size(kShards); ++i) cost.compute.push_back({kShards[i], times[i]});
  cost.update_seconds = times.back();
}

}  // namespace

Calibration calibrate(dist::World& world, const CalibrationOptions& options,
                      const std::function<void(const std::string&)>& say) {
  Calibration calibration;
  for (int rank = 0; rank < world.size(); ++rank)
    if (std::ranges::count(calibration.machines, world.host(rank)) == 0)
      calibration.machines.push_back(world.host(rank));
  dist::MirroredGroup group(world, options.replicas);
  say("all-reduce");
  calibration.cost = model_cost(models::find_architecture(options.model), options.optimizer);
  const std::vector<AlgorithmRow> rows = measure_all_reduces(world, group, options);
  calibration.table.replace(rows);
  measure_network(world, rows, options, calibration.cost);
  measure_node(world, group, options, calibration.cost);
  say(fmt::format("training of {}", options.model));
  measure_compute(world, options, calibration.cost);
  return calibration;
}

}  // namespace lockring::app
