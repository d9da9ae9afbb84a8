// lockring bench allreduce: how fast the replicas of a job add up vectors.
//
// The columns are those of nccl-tests: algbw is bytes / time, busbw = algbw 2 (n - 1) / n for n replicas, which makes
// any n comparable with the speed of the wire or the memory.
#include "apps/command.h"
#include "apps/job.h"
#include "apps/option_values.h"
#include "apps/terminal.h"
#include "core/error.h"
#include "core/stopwatch.h"
#include "distributed/mirrored_group.h"
#include "ops/gradient_sums_kernel.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <optional>

namespace lockring::app {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string bytes = "4K..64M";
  std::string algorithm = "auto";
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

// One way to add up, of vectors of one length.
class AllReduce {
 public:
  virtual ~AllReduce() = default;
  // Once, by all replicas of the job; called on the main thread.
  virtual void run() = 0;
};

// Each replica adds up its slice of all vectors, where they lie; the sum is there for all to read.
class Mirrored : public AllReduce {
 public:
  Mirrored(dist::MirroredGroup& group, std::int64_t elements)
      : group_(group), memory_(group.allocate(group.size() * elements * 4)) {
    auto* vectors = reinterpret_cast<float*>(memory_.get());
    for (int i = 0; i < group.size(); ++i) vectors_.push_back(vectors + i * elements);
    job_ = [this, elements](int replica) {
      const dist::Slice slice = dist::slice_of(elements, 16, group_.size(), group_.first() + replica);
      group_.team().meet(replica);
      kTreeSum.on()(vectors_.data(), group_.size(), slice.begin, slice.end, const_cast<float*>(vectors_[0]));
      group_.team().meet(replica);
    };
    group.team().run(
        [&](int replica) { std::fill_n(vectors + (group.first() + replica) * elements, elements, 1e-9F); });
  }
  void run() override { group_.team().run(job_); }

 private:
  dist::MirroredGroup& group_;
  std::shared_ptr<std::byte> memory_;
  std::vector<const float*> vectors_;
  std::function<void(int)> job_;
};

// Messages between ranks.
class Messages : public AllReduce {
 public:
  Messages(dist::World& world, dist::Algorithm algorithm, std::int64_t elements)
      : world_(world), algorithm_(algorithm), values_(static_cast<std::size_t>(elements)) {}
  void run() override { world_.all().all_reduce(values_, algorithm_); }

 private:
  dist::World& world_;
  dist::Algorithm algorithm_;
  std::vector<float> values_;
};

class Library : public AllReduce {
 public:
  Library(dist::World& world, std::int64_t elements) : world_(world), values_(static_cast<std::size_t>(elements)) {}
  void run() override { world_.library_all_reduce(values_); }

 private:
  dist::World& world_;
  std::vector<float> values_;
};

// The seconds of one, over all ranks: the mean of as many as take the time asked for, of the slowest rank.
double time_all_reduce(dist::World& world, AllReduce& all_reduce, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto several = [&](std::int64_t count) {
    world.all().barrier();
    const Clock::time_point start = Clock::now();
    for (std::int64_t i = 0; i < count; ++i) all_reduce.run();
    double took[] = {0};
    took[0] = seconds_since(start) / static_cast<double>(count);
    double slowest = 0;
    for (const std::string& text : world.all().all_gather(fmt::format("{}", took[0])))
      slowest = std::max(slowest, std::stod(text));
    return slowest;
  };
  several(3);
  const double rough = several(5);
  constexpr int kRounds = 5;
  const auto count = static_cast<std::int64_t>(std::clamp(seconds / kRounds / rough, 1.0, 1e6));
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) times.push_back(several(count));
  std::ranges::sort(times);
  return times[kRounds / 2];
}

int run(const Options& options) {
  const Sizes sizes = parse_sizes(options.bytes);
  dist::World& world = job();
  std::string algorithm = options.algorithm;
  if (algorithm == "auto") algorithm = world.nodes() == 1 ? "mirrored" : "ring";
  const bool mirrored = algorithm == "mirrored";
  check(!mirrored || world.nodes() == 1, "mirrored replicas share the memory of one machine; this job has {}",
        world.nodes());
  check(mirrored || options.replicas == 1, "--replicas {}: {} is between ranks; only mirrored knows replicas",
        options.replicas, algorithm);
  std::optional<dist::MirroredGroup> group;
  if (mirrored) group.emplace(world, options.replicas);
  const int replicas = mirrored ? group->size() : world.size();

  const bool leads = world.rank() == 0;
  if (leads && !options.json)
    print(
        "{} ranks on {} machines, {} replicas in all; {}\n\n{:>12} {:>12} {:>10} {:>10}\n{:>12} {:>12} {:>10} {:>10}\n",
        world.size(), world.nodes(), replicas, algorithm, "size", "time", "algbw", "busbw", "bytes", "us", "GB/s",
        "GB/s");
  Json rows = Json::array();
  for (std::int64_t bytes = sizes.least; bytes <= sizes.most; bytes *= 4) {
    const std::int64_t elements = bytes / 4;
    std::unique_ptr<AllReduce> all_reduce;
    if (mirrored)
      all_reduce = std::make_unique<Mirrored>(*group, elements);
    else if (algorithm == "mpi")
      all_reduce = std::make_unique<Library>(world, elements);
    else
      all_reduce = std::make_unique<Messages>(world, dist::parse_algorithm(algorithm), elements);
    const double seconds = time_all_reduce(world, *all_reduce, options.seconds);
    const double algbw = static_cast<double>(elements * 4) / seconds / 1e9;
    const double busbw = algbw * 2 * (replicas - 1) / replicas;
    rows.push_back({{"bytes", elements * 4},
                    {"ranks", world.size()},
                    {"replicas", replicas},
                    {"algorithm", algorithm},
                    {"time_us", seconds * 1e6},
                    {"algbw_gbs", algbw},
                    {"busbw_gbs", busbw}});
    if (leads && !options.json)
      print("{:>12} {:>12.1f} {:>10.2f} {:>10.2f}\n", elements * 4, seconds * 1e6, algbw, busbw);
  }
  if (leads && options.json) print("{}\n", rows.dump());
  return 0;
}

}  // namespace

Action bench_allreduce(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--bytes", options->bytes, "sizes, each four times the one before: MIN..MAX, or one");
  app.add_option("--allreduce", options->algorithm, "how")
      ->check(one_of({"auto", "mirrored", "ring", "recursive-doubling", "halving-doubling", "mpi"}));
  app.add_option("--replicas", options->replicas, "threads a rank, for mirrored")->check(within(1, 1024));
  app.add_option("--seconds", options->seconds, "time for each size")->check(above(0));
  app.add_flag("--json", options->json, "print a list of JSON objects");
  app.footer(
      "Example:\n  lockring bench allreduce --replicas 2\n  mpirun -np 2 lockring bench allreduce --bytes 4K..64M");
  return [options] { return run(*options); };
}

}  // namespace lockring::app
