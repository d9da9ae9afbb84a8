// lockring bench strategies: all-reduce and parameter servers side by side on one model, over ratios of workers to
// servers.
#include "apps/bench_support.h"
#include "apps/command.h"
#include "apps/job.h"
#include "apps/option_values.h"
#include "apps/terminal.h"
#include "apps/text_table.h"
#include "apps/train/optimizer_store.h"
#include "apps/train/trainer.h"
#include "core/error.h"
#include "nn/gradient_norm.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <optional>

namespace lockring::app {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string model = "mlp";
  std::int64_t batch_size = 64;  // of a worker
  std::string optimizer = "adam";
  int staleness = 4;
  double seconds = 1;
  bool json = false;
};

struct Row {
  std::string strategy;
  int workers = 0;
  int servers = 0;
  double step_seconds = 0;
  double images_per_second = 0;
  double bytes = 0;  // in and out of the busiest rank a step; 0 where memory is shared
};

// What the ranks of the job do, one strategy after the other.
class Strategies {
 public:
  Strategies(dist::World& whole, const Options& options)
      : whole_(whole),
        options_(options),
        architecture_(models::find_architecture(options.model)),
        split_(random_split(std::max<std::int64_t>(options.batch_size * whole.size(), 1), images_)),
        transform_(data::Transform::parse("normalize:0.286:0.353")) {}

  // By all ranks, which share memory where they can.
  Row mirrored() {
    Row row{"all-reduce, shared memory", whole_.size(), 0, 0, 0, 0};
    finish(row, train(whole_, nullptr, 0, false));
    return row;
  }

  // By messages between all ranks, as if each were on a machine of its own.
  Row ring() {
    const int ranks = whole_.size();
    Row row{"all-reduce, ring", ranks, 0, 0, 0, 0};
    const std::unique_ptr<dist::World> apart = dist::world_of_workers(whole_, ranks);
    finish(row, train(*apart, nullptr, 0, false));
    row.bytes = 2 * 2.0 * static_cast<double>(bytes_) * (ranks - 1) / ranks;
    return row;
  }

  Row parameter_server(int servers, std::optional<int> staleness) {
    const int workers = whole_.size() - servers;
    Row row{staleness ? fmt::format("servers, staleness {}", *staleness) : "servers, synchronous",
            workers,
            servers,
            0,
            0,
            0};
    Measured measured;
    double moved = 0;
    if (whole_.rank() < workers) {
      const std::unique_ptr<dist::World> world = dist::world_of_workers(whole_, workers);
      measured = train(*world, &whole_.all(), servers, staleness.has_value());
    } else {
      moved = serve(workers, servers, staleness);
    }
    const double steps = std::stod(whole_.all().all_gather(fmt::format("{}", measured.steps))[0]);
    for (const std::string& text : whole_.all().all_gather(fmt::format("{}", moved)))
      row.bytes = std::max(row.bytes, std::stod(text) / steps);
    finish(row, measured);
    return row;
  }

 private:
  struct Measured {
    double seconds = 0;  // of all steps that follow
    double steps = 0;
  };

  // Ranks of `world`; with servers, those are behind them in the group.
  Measured train(dist::World& world, dist::Communicator* group, int servers, bool asynchronous) {
    TrainerOptions options{.build = [this] { return architecture_.build(images_); },
                           .world = &world,
                           .micro_batch = architecture_.micro_batch,
                           .optimizer = {.name = options_.optimizer}};
    if (servers > 0) options.served = {.group = group, .servers = servers, .asynchronous = asynchronous};
    Trainer trainer(options, split_, transform_);
    bytes_ = trainer.model().layout().elements() * 4;
    const std::vector<std::uint32_t> order = data::all_samples(options_.batch_size * world.size());
    std::int64_t step = 0;
    const auto several = [&](std::int64_t count) {
      world.all().barrier();
      const auto start = std::chrono::steady_clock::now();
      for (std::int64_t i = 0; i < count; ++i) trainer.step(order, 0, step++, 1e-4);
      world.all().barrier();
      return seconds_since(start);
    };
    constexpr std::int64_t kWarmUp = 5;
    several(kWarmUp);
    const double rough = several(kWarmUp) / kWarmUp;
    const double wanted = std::clamp(options_.seconds / rough, 10.0, 1e6);
    const auto count = static_cast<std::int64_t>(std::stod(world.all().all_gather(fmt::format("{}", wanted))[0]));
    const double seconds = several(count);
    trainer.leave_servers();
    return {seconds * static_cast<double>(step) / static_cast<double>(count), static_cast<double>(step)};
  }

  // The bytes that this server moved.
  double serve(int workers, int servers, std::optional<int> staleness) {
    nn::Model model(architecture_.build(images_), 0);
    const std::unique_ptr<dist::Communicator> peers = dist::part_of(whole_.all(), workers, servers);
    OptimizerStore store(
        model,
        {.optimizer = {.name = options_.optimizer}, .workers = workers, .servers = staleness ? nullptr : peers.get()});
    const dist::ServerPlan plan{workers, servers, model.layout().elements(), nn::kSquareSumBlock};
    dist::ParameterServer server(whole_.all(), plan, store, staleness);
    server.serve();
    return static_cast<double>(server.bytes_received() + server.bytes_sent());
  }

  // Of the first rank, which always trains.
  void finish(Row& row, const Measured& measured) const {
    row.step_seconds = measured.seconds / measured.steps;
    row.images_per_second = static_cast<double>(options_.batch_size * row.workers) / row.step_seconds;
  }

  dist::World& whole_;
  const Options& options_;
  const models::Architecture& architecture_;
  models::ImageSpec images_;
  data::Split split_;
  data::Transform transform_;
  std::int64_t bytes_ = 0;
};

std::string table_of(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> lines{
      {"strategy", "workers", "servers", "step us", "images/s", "busiest rank moves a step"}};
  for (const Row& row : rows)
    lines.push_back({row.strategy, fmt::format("{}", row.workers), fmt::format("{}", row.servers),
                     fmt::format("{:.0f}", row.step_seconds * 1e6),
                     with_thousands(static_cast<std::int64_t>(row.images_per_second)),
                     row.bytes > 0 ? bytes_text(row.bytes) : "-"});
  return text_table(lines, {Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
}

int run(const Options& options) {
  dist::World& whole = job();
  check(whole.size() > 1, "strategies differ between ranks: start it with mpirun -np 3 or more");
  Strategies strategies(whole, options);
  std::vector<Row> rows;
  if (whole.nodes() == 1) rows.push_back(strategies.mirrored());
  rows.push_back(strategies.ring());
  for (int servers = 1; servers < whole.size(); ++servers)
    for (const std::optional<int> staleness : {std::optional<int>(), std::optional<int>(options.staleness)})
      rows.push_back(strategies.parameter_server(servers, staleness));
  if (whole.rank() != 0) return 0;
  if (!options.json) {
    print("{}, {} images a worker and step\n\n", options.model, options.batch_size);
    print_text(table_of(rows));
    return 0;
  }
  Json list = Json::array();
  for (const Row& row : rows)
    list.push_back({{"strategy", row.strategy},
                    {"workers", row.workers},
                    {"servers", row.servers},
                    {"step_us", row.step_seconds * 1e6},
                    {"images_per_second", row.images_per_second},
                    {"busiest_rank_bytes", row.bytes}});
  print("{}\n", list.dump());
  return 0;
}

}  // namespace

Action bench_strategies(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--model", options->model, "architecture");
  app.add_option("--batch-size", options->batch_size, "images a worker and step")->check(within(1, 60000));
  app.add_option("--optimizer", options->optimizer, "sgd, adam or adamw")->check(one_of(nn::optimizer_names()));
  app.add_option("--staleness", options->staleness, "steps that an asynchronous worker may be ahead of the slowest")
      ->check(within(0, 1e6));
  app.add_option("--seconds", options->seconds, "time for each strategy")->check(above(0));
  app.add_flag("--json", options->json, "print a list of JSON objects");
  app.footer("Example:\n  mpirun -np 4 \\\n  lockring bench strategies --model mlp");
  return [options] { return run(*options); };
}

}  // namespace lockring::app
