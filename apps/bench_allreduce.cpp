// lockring bench allreduce: how fast the replicas of a job add up vectors.
//
// The columns are those of nccl-tests: algbw is bytes / time, busbw = algbw 2 (n - 1) / n for n replicas, which makes
// any n comparable with the speed of the wire or the memory.
#include "apps/cluster/calibration.h"
#include "apps/cluster/timed_all_reduce.h"
#include "apps/command.h"
#include "apps/job.h"
#include "apps/option_values.h"
#include "apps/terminal.h"
#include "core/error.h"
#include "distributed/device_communicator.h"
#include "distributed/mirrored_group.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace lockring::app {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string bytes = "4K..64M";
  std::string algorithm = "auto";
  std::string table;  // file; empty: the built-in choice
  int replicas = 1;
  double seconds = 0.5;
  bool json = false;
};

struct Sizes {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

// "4K..64M", or one size.
Sizes parse_sizes(const std::string& text) {
  const std::size_t dots = text.find("..");
  const std::string least = text.substr(0, dots);
  const Sizes sizes{parse_bytes(least, "--bytes"),
                    parse_bytes(dots == std::string::npos ? least : text.substr(dots + 2), "--bytes")};
  check(sizes.least >= 4 && sizes.least <= sizes.most, "--bytes '{}': expected a size of at least 4, or two, MIN..MAX",
        text);
  return sizes;
}

// The replicas that add up, one way for all sizes or, between ranks, what a table says of each.
class Adders {
 public:
  explicit Adders(const Options& options) : options_(options), world_(job()) {
    algorithm_ = options.algorithm == "auto" ? world_.nodes() == 1 ? "mirrored" : "ring" : options.algorithm;
    const bool mirrored = algorithm_ == "mirrored", nccl = algorithm_ == "nccl";
    check(!mirrored || world_.nodes() == 1, "mirrored replicas share the memory of one machine; this job has {}",
          world_.nodes());
    if (!options.table.empty()) table_ = read_calibration(options.table, world_).table;
    check(mirrored || nccl || options.replicas == 1,
          "--replicas {}: {} is between ranks; only mirrored and nccl know replicas", options.replicas, algorithm_);
    if (mirrored) group_.emplace(world_, options.replicas);
    if (!nccl) return;
    on_gpus_ = dist::open_nccl(world_, gpus_of_rank(world_, options.replicas));
    team_.emplace(options.replicas);
  }

  const std::string& algorithm() const { return algorithm_; }
  int replicas() const { return group_ ? group_->size() : on_gpus_.empty() ? world_.size() : on_gpus_.front()->size(); }
  // How vectors of so many bytes are added up.
  std::string choose(std::int64_t bytes) const {
    const bool asks_table = options_.algorithm == "auto" && options_.replicas == 1;
    const std::string measured = asks_table ? table_.choose(bytes, world_.size(), world_.nodes()) : "";
    return measured.empty() ? algorithm_ : measured;
  }
  double time(const std::string& how, std::int64_t elements) {
    if (how == "nccl") return time_nccl(world_, *team_, on_gpus_, elements, options_.seconds);
    if (how == "mirrored") return time_mirrored(world_, *group_, elements, options_.seconds);
    return time_messages(world_, world_.all(), how, elements, options_.seconds);
  }

 private:
  const Options& options_;
  dist::World& world_;
  std::string algorithm_;
  AlgorithmTable table_;
  std::optional<dist::MirroredGroup> group_;
  std::vector<std::unique_ptr<dist::DeviceCommunicator>> on_gpus_;
  std::optional<dist::ReplicaTeam> team_;  // whose threads end before what they use
};

int run(const Options& options) {
  const Sizes sizes = parse_sizes(options.bytes);
  dist::World& world = job();
  Adders adders(options);
  const int replicas = adders.replicas();
  const bool leads = world.rank() == 0;
  if (leads && !options.json)
    print(
        "{} ranks on {} machines, {} replicas in all; {}{}\n\n{:>12} {:>12} {:>10} {:>10}\n{:>12} {:>12} {:>10} "
        "{:>10}\n",
        world.size(), world.nodes(), replicas, adders.algorithm(),
        adders.algorithm() == "nccl" ? " " + dist::nccl_version() : "", "size", "time", "algbw", "busbw", "bytes", "us",
        "GB/s", "GB/s");
  Json rows = Json::array();
  for (std::int64_t bytes = sizes.least; bytes <= sizes.most; bytes *= 4) {
    const std::int64_t elements = bytes / 4;
    const std::string how = adders.choose(bytes);
    const double seconds = adders.time(how, elements);
    const double algbw = static_cast<double>(elements * 4) / seconds / 1e9;
    const double busbw = algbw * 2 * (replicas - 1) / replicas;
    rows.push_back({{"bytes", elements * 4},
                    {"ranks", world.size()},
                    {"replicas", replicas},
                    {"algorithm", how},
                    {"time_us", seconds * 1e6},
                    {"algbw_gbs", algbw},
                    {"busbw_gbs", busbw}});
    if (leads && !options.json)
      print("{:>12} {:>12.1f} {:>10.2f} {:>10.2f}{}\n", elements * 4, seconds * 1e6, algbw, busbw,
            how == adders.algorithm() ? "" : "  " + how);
  }
  if (leads && options.json) print("{}\n", rows.dump());
  return 0;
}

}  // namespace

Action bench_allreduce(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--bytes", options->bytes, "sizes, each four times the one before: MIN..MAX, or one");
  app.add_option("--allreduce", options->algorithm, "how")
      ->check(one_of({"auto", "mirrored", "ring", "recursive-doubling", "halving-doubling", "mpi", "nccl"}));
  app.add_option("--allreduce-table", options->table,
                 "what lockring doctor --calibrate has stored, for auto to choose by")
      ->type_name("FILE");
  app.add_option("--replicas", options->replicas, "threads or GPUs a rank, for mirrored and nccl")
      ->check(within(1, 1024));
  app.add_option("--seconds", options->seconds, "time for each size")->check(above(0));
  app.add_flag("--json", options->json, "print a list of JSON objects");
  app.footer(
      "Example:\n  lockring bench allreduce --replicas 2\n  mpirun -np 2 lockring bench allreduce --bytes 4K..64M");
  return [options] { return run(*options); };
}

}  // namespace lockring::app
