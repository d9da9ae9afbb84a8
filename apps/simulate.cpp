// lockring simulate: what training would reach on machines that are not there, from the measured cost model.
#include "apps/cluster/calibration.h"
#include "apps/cluster/compute_probe.h"
#include "apps/cluster/model_cost.h"
#include "apps/command.h"
#include "apps/option_values.h"
#include "apps/terminal.h"
#include "apps/text_table.h"
#include "apps/train/options.h"
#include "core/error.h"
#include "nn/optimizer.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace lockring::app {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string calibration;  // file; empty: compute is measured now
  std::string model = "cnn";
  std::string optimizer = "adam";
  int ranks = 8;
  int ranks_per_host = 1;
  int replicas = 1;
  std::int64_t batch_size = 0;  // 0: 64 a replica
  bool strong = false;
  std::string link;
  std::string latency;
  double compute_us = 0;  // a replica's step; 0: measured
  std::string algorithm = "auto";
  std::string bucket_bytes = TrainOptions().bucket_bytes;
  int cores = 0;
  bool json = false;
};

// Typical of one machine, where nothing was measured: a meeting, and sums through memory.
constexpr double kMeetingSeconds = 2e-6;
constexpr double kMemorySecondsPerByte = 1e-10;

void measure(const Options& options, const models::Architecture& architecture, std::int64_t shard, CostModel& cost) {
  cost = model_cost(architecture, options.optimizer);
  cost.meeting_seconds = kMeetingSeconds;
  cost.memory_seconds_per_byte = kMemorySecondsPerByte;
  const ComputeTime time = time_compute(architecture, {}, options.optimizer, shard, 1, 0.5);
  cost.compute = {{shard, time.step}};
  cost.update_seconds = time.update;
}

// What was measured, and in its place what was given.
CostModel cost_model(const Options& options, const models::Architecture& architecture, std::int64_t shard) {
  CostModel cost;
  if (options.calibration.empty()) {
    check(options.ranks <= options.ranks_per_host || (!options.link.empty() && !options.latency.empty()),
          "give --link and --latency, or a --calibration file of lockring doctor");
    measure(options, architecture, shard, cost);
  } else {
    cost = read_calibration(options.calibration).cost;
    check(cost.model == options.model, "{} was measured with the model {}, not {}", options.calibration, cost.model,
          options.model);
  }
  if (options.compute_us > 0) cost.compute = {{shard, options.compute_us * 1e-6}};
  if (!options.link.empty()) {
    cost.link_seconds_per_byte = 8 / parse_rate(options.link, "--link");
    cost.burst_bytes = 0;
  }
  if (!options.latency.empty()) cost.latency_seconds = parse_short_time(options.latency, "--latency");
  return cost;
}

// 1, 2, 4, ... and the number asked for; whole hosts, beyond the first.
std::vector<int> rank_counts(const Options& options) {
  std::set<int> counts{options.ranks};
  for (int ranks = 1; ranks < options.ranks; ranks *= 2)
    if (ranks <= options.ranks_per_host || ranks % options.ranks_per_host == 0) counts.insert(ranks);
  return {counts.begin(), counts.end()};
}

struct Row {
  int ranks = 0;
  JobShape job;
  StepCost cost;
  double images_per_second = 0;
  double efficiency = 0;  // images/s against those of one replica alone, times the replicas
};

Row predict(const CostModel& cost, const Options& options, const models::Architecture& architecture, int ranks,
            std::int64_t shard) {
  Row row;
  row.ranks = ranks;
  row.job.hosts = (ranks + options.ranks_per_host - 1) / options.ranks_per_host;
  row.job.replicas = ranks / row.job.hosts * options.replicas;
  row.job.cores = options.cores;
  row.job.last_micro_batch = architecture.micro_batch;
  row.job.buckets = bucket_sizes(architecture, parse_bytes(options.bucket_bytes, "--bucket-bytes"));
  if (options.algorithm != "auto") row.job.exchange = dist::parse_algorithm(options.algorithm);
  const int workers = ranks * options.replicas;
  row.job.shard = options.strong ? std::max<std::int64_t>((options.batch_size + workers - 1) / workers, 1) : shard;
  row.cost = predict_step(cost, row.job);
  const std::int64_t batch = options.strong ? options.batch_size : shard * workers;
  row.images_per_second = static_cast<double>(batch) / row.cost.step();
  const JobShape alone{.shard = options.strong ? options.batch_size : shard};
  const double alone_rate = static_cast<double>(alone.shard) / predict_step(cost, alone).step();
  row.efficiency = row.images_per_second / (alone_rate * workers);
  return row;
}

Json to_json(const Row& row) {
  return {{"ranks", row.ranks},
          {"hosts", row.job.hosts},
          {"replicas", row.job.hosts * row.job.replicas},
          {"images_per_replica", row.job.shard},
          {"algorithm", row.job.hosts > 1 ? dist::to_string(row.cost.exchange_algorithm) : "mirrored"},
          {"step_us", row.cost.step() * 1e6},
          {"compute_us", row.cost.compute * 1e6},
          {"update_us", row.cost.update * 1e6},
          {"node_us", row.cost.node * 1e6},
          {"exchange_us", row.cost.exchange * 1e6},
          {"exposed_us", row.cost.exposed * 1e6},
          {"images_per_second", row.images_per_second},
          {"efficiency", row.efficiency}};
}

std::string table_of(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> lines{{"ranks", "hosts", "replicas", "step", "compute", "update", "node",
                                               "exchange", "exposed", "images/s", "efficiency", "by"}};
  const auto us = [](double seconds) { return fmt::format("{:.0f}", seconds * 1e6); };
  for (const Row& row : rows)
    lines.push_back({fmt::format("{}", row.ranks), fmt::format("{}", row.job.hosts),
                     fmt::format("{}", row.job.hosts * row.job.replicas), us(row.cost.step()), us(row.cost.compute),
                     us(row.cost.update), us(row.cost.node), us(row.cost.exchange), us(row.cost.exposed),
                     with_thousands(static_cast<std::int64_t>(row.images_per_second)),
                     fmt::format("{:.1f} %", 100 * row.efficiency),
                     row.job.hosts > 1 ? dist::to_string(row.cost.exchange_algorithm) : "mirrored"});
  std::vector<Align> columns(lines[0].size(), Align::right);
  columns.back() = Align::left;
  return text_table(lines, columns) + "  (times in microseconds)\n";
}

int run(const Options& options) {
  const models::Architecture& architecture = models::find_architecture(options.model);
  check(options.ranks < options.ranks_per_host || options.ranks % options.ranks_per_host == 0,
        "--ranks {} do not fill hosts of --ranks-per-host {}", options.ranks, options.ranks_per_host);
  const std::int64_t workers = std::int64_t{options.ranks} * options.replicas;
  constexpr std::int64_t kImagesPerReplica = 64;
  Options asked = options;
  if (asked.batch_size == 0) asked.batch_size = kImagesPerReplica * workers;
  const std::int64_t shard = std::max<std::int64_t>((asked.batch_size + workers - 1) / workers, 1);
  const CostModel cost = cost_model(options, architecture, shard);
  std::vector<Row> rows;
  for (const int ranks : rank_counts(options)) rows.push_back(predict(cost, asked, architecture, ranks, shard));
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(to_json(row));
  if (options.json) {
    print("{}\n", list.dump());
    return 0;
  }
  print("{}, {} of gradients; {}; between hosts {:.3g} us and {:.3g} Gbit/s\n\n", options.model,
        bytes_text(static_cast<double>(cost.bytes)),
        asked.strong ? fmt::format("batches of {}", asked.batch_size) : fmt::format("{} images a replica", shard),
        cost.latency_seconds * 1e6, cost.link_seconds_per_byte > 0 ? 8e-9 / cost.link_seconds_per_byte : INFINITY);
  print_text(table_of(rows));
  return 0;
}

}  // namespace

Action simulate(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("--calibration", o->calibration, "what lockring doctor --calibrate has stored")
      ->configurable(false)
      ->type_name("FILE");
  app.add_option("--model", o->model, "architecture");
  app.add_option("--optimizer", o->optimizer, "sgd, adam or adamw")->check(one_of(nn::optimizer_names()));
  app.add_option("--ranks", o->ranks, "of the largest job in the table")->check(within(1, 1 << 20));
  app.add_option("--ranks-per-host", o->ranks_per_host, "that share a machine")->check(within(1, 1024));
  app.add_option("--replicas", o->replicas, "threads a rank")->check(within(1, 1024));
  app.add_option("--batch-size", o->batch_size, "images a step of the largest job; 0 for 64 a replica")
      ->check(within(0, 1e12));
  app.add_flag("--strong", o->strong, "the same batch for any number of ranks, instead of the same part of a replica");
  app.add_option("--link", o->link, "speed between hosts, such as 25Gbit")->type_name("RATE");
  app.add_option("--latency", o->latency, "of a message between hosts, such as 20us")->type_name("TIME");
  app.add_option("--compute-us", o->compute_us, "microseconds that a replica computes a step; 0 to measure it")
      ->check(within(0, 1e12));
  app.add_option("--allreduce", o->algorithm, "between hosts; auto is what training would choose")
      ->check(one_of({"auto", "ring", "halving-doubling", "recursive-doubling"}));
  app.add_option("--bucket-bytes", o->bucket_bytes,
                 "of the gradient, that travel together while backward goes on; 0: all, after it")
      ->type_name("SIZE");
  app.add_option("--cores", o->cores, "that all replicas share, where one machine plays the hosts; 0: one for each")
      ->check(within(0, 1 << 20));
  app.add_flag("--json", o->json, "print a list of JSON objects");
  app.footer("Example:\n  lockring simulate --ranks 512 --link 25Gbit --latency 20us");
  return [o] { return run(*o); };
}

}  // namespace lockring::app
