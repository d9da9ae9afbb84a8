#include "apps/cluster/job_report.h"

#include "apps/job.h"
#include "apps/machine.h"
#include "apps/program.h"
#include "apps/terminal.h"
#include "apps/text_table.h"
#include "core/error.h"
#include "core/text.h"
#include "models/models.h"
#include "nn/model.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>

namespace lockring::app {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const NetworkInterface& interface) {
  return {{"name", interface.name},
          {"address", interface.address},
          {"megabits_per_second", interface.megabits},
          {"loopback", interface.loopback}};
}

Json to_json(const RankReport& r) {
  Json interfaces = Json::array();
  for (const NetworkInterface& interface : r.interfaces) interfaces.push_back(to_json(interface));
  return {{"rank", r.rank},
          {"machine", r.machine},
          {"host", r.host},
          {"version", r.version},
          {"cores", r.cores},
          {"usable_cores", r.usable_cores},
          {"hardware_threads", r.hardware_threads},
          {"replicas", r.replicas},
          {"shared_memory_bytes", {{"total", r.shared_memory_total}, {"free", r.shared_memory_free}}},
          {"memory_available_bytes", r.memory_available},
          {"interfaces", interfaces}};
}

Json to_json(const std::vector<Link>& links) {
  Json json = Json::array();
  for (const Link& link : links)
    json.push_back({{"from", link.from},
                    {"to", link.to},
                    {"latency_us", link.latency_seconds * 1e6},
                    {"gb_per_second", link.bytes_per_second / 1e9}});
  return json;
}

RankReport report_rank(dist::World& world) {
  const Machine machine = describe_machine();
  return {.rank = world.rank(),
          .machine = world.node_index(),
          .host = world.host(world.rank()),
          .version = std::string(version()),
          .cores = machine.affinity,
          .usable_cores = machine.usable_cores,
          .hardware_threads = machine.hardware_threads,
          .replicas = cores_of_rank(),
          .shared_memory_total = machine.shared_memory_total,
          .shared_memory_free = machine.shared_memory_free,
          .memory_available = machine.memory_available,
          .interfaces = interfaces_in_use()};
}

std::string names_of(const std::vector<NetworkInterface>& interfaces) {
  std::vector<std::string> names;
  for (const NetworkInterface& interface : interfaces) {
    const std::string speed = interface.megabits > 0 ? fmt::format(", {} Mbit/s", interface.megabits) : "";
    names.push_back(fmt::format("{} ({}{})", interface.name, interface.address, speed));
  }
  return names.empty() ? "-" : joined(names);
}

// "0.6 us to 0.8 us, 11.2 GB/s to 12.0 GB/s", and the slowest pair if there are several.
std::string links_text(const std::vector<Link>& links) {
  if (links.empty()) return "not measured: there are no two such ranks\n";
  const auto latency = std::ranges::minmax(links, {}, &Link::latency_seconds);
  const auto speed = std::ranges::minmax(links, {}, &Link::bytes_per_second);
  std::string text =
      fmt::format("{:.1f} us, {:.3g} GB/s", latency.max.latency_seconds * 1e6, speed.min.bytes_per_second / 1e9);
  if (links.size() > 1)
    text += fmt::format(" at worst (ranks {} and {}); {:.1f} us, {:.3g} GB/s at best", speed.min.from, speed.min.to,
                        latency.min.latency_seconds * 1e6, speed.max.bytes_per_second / 1e9);
  return text + "\n";
}

// Gradients of each replica, the parameters and two states of the optimizer; see apps/train/trainer.h.
std::int64_t bytes_shared(const JobReport& report) {
  constexpr std::int64_t kBesidesGradients = 3;
  const nn::Model model(models::find_architecture(report.model).build({}), 1);
  std::map<int, std::int64_t> replicas;
  for (const RankReport& rank : report.ranks) replicas[rank.machine] += rank.replicas;
  std::int64_t most = 0;
  for (const auto& [machine, count] : replicas) most = std::max(most, count);
  return (most + kBesidesGradients) * model.layout().elements() * 4;
}

// Ranks of each machine.
std::map<int, std::vector<const RankReport*>> by_machine(const JobReport& report) {
  std::map<int, std::vector<const RankReport*>> machines;
  for (const RankReport& rank : report.ranks) machines[rank.machine].push_back(&rank);
  return machines;
}

void warn_of_cores(const std::vector<const RankReport*>& ranks, std::vector<std::string>& warnings) {
  const RankReport& first = *ranks.front();
  std::set<std::string> masks;
  for (const RankReport* rank : ranks) masks.insert(rank->cores);
  const bool one_mask = masks.size() == 1;
  if (one_mask && static_cast<int>(ranks.size()) > first.usable_cores)
    warnings.push_back(fmt::format("{}: {} ranks share {} ({})", first.host, ranks.size(),
                                   counted(first.usable_cores, "core"), first.cores));
  if (!one_mask && masks.size() < ranks.size())
    warnings.push_back(fmt::format("{}: some ranks are bound to the same cores, others are not", first.host));
  int used = 0;
  for (const RankReport* rank : ranks) used += rank->replicas;
  const bool bound = first.usable_cores == 1 && first.hardware_threads > 1;
  if (bound && used < first.hardware_threads)
    warnings.push_back(
        fmt::format("{}: each rank is bound to 1 of {} hardware threads, of which {} are used; "
                    "'mpirun --bind-to none' lifts that",
                    first.host, first.hardware_threads, used));
}

void warn_of_memory(const JobReport& report, const std::vector<const RankReport*>& ranks,
                    std::vector<std::string>& warnings) {
  const RankReport& first = *ranks.front();
  // Open MPI's shared-memory transport makes a segment of this size for each rank there (btl_vader_segment_size).
  constexpr std::int64_t kSegment = 4 << 20;
  const auto needed = static_cast<std::int64_t>(ranks.size()) * kSegment;
  if (ranks.size() > 1 && first.shared_memory_total < needed)
    warnings.push_back(fmt::format("{}: /dev/shm has {}, and MPI wants {} there for {} ranks (docker: --shm-size)",
                                   first.host, bytes_text(static_cast<double>(first.shared_memory_total)),
                                   bytes_text(static_cast<double>(needed)), ranks.size()));
  if (first.memory_available < report.shared_bytes)
    warnings.push_back(fmt::format("{}: {} of memory are available, and training {} shares {}", first.host,
                                   bytes_text(static_cast<double>(first.memory_available)), report.model,
                                   bytes_text(static_cast<double>(report.shared_bytes))));
}

void warn_of_network(const JobReport& report, std::vector<std::string>& warnings) {
  constexpr std::string_view kVirtual[] = {"docker", "virbr", "lo"};
  for (const RankReport& rank : report.ranks)
    for (const NetworkInterface& interface : rank.interfaces)
      if (std::ranges::any_of(kVirtual, [&](std::string_view name) { return interface.name.starts_with(name); }))
        warnings.push_back(
            fmt::format("rank {} on {} sends over {}, which leads to no other machine; choose with "
                        "'mpirun --mca btl_tcp_if_include NAME'",
                        rank.rank, rank.host, interface.name));
}

}  // namespace

std::string to_line(const RankReport& report) { return to_json(report).dump(); }

RankReport parse_rank_report(const std::string& line) {
  try {
    const Json json = Json::parse(line);
    const Json& shared = json.at("shared_memory_bytes");
    RankReport r{.rank = json.at("rank").get<int>(),
                 .machine = json.at("machine").get<int>(),
                 .host = json.at("host").get<std::string>(),
                 .version = json.at("version").get<std::string>(),
                 .cores = json.at("cores").get<std::string>(),
                 .usable_cores = json.at("usable_cores").get<int>(),
                 .hardware_threads = json.at("hardware_threads").get<int>(),
                 .replicas = json.at("replicas").get<int>(),
                 .shared_memory_total = shared.at("total").get<std::int64_t>(),
                 .shared_memory_free = shared.at("free").get<std::int64_t>(),
                 .memory_available = json.at("memory_available_bytes").get<std::int64_t>(),
                 .interfaces = {}};
    for (const Json& one : json.at("interfaces"))
      r.interfaces.push_back({one.at("name").get<std::string>(), one.at("address").get<std::string>(),
                              one.at("megabits_per_second").get<std::int64_t>(), one.at("loopback").get<bool>()});
    return r;
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorCode::device, "a rank's report cannot be read: {}", error.what());
  }
}

JobReport report_job(dist::World& world, const std::string& model) {
  JobReport report;
  report.machines = world.nodes();
  report.mpi_version = world.mpi_version();
  report.thread_level = world.thread_level();
  report.model = model;
  report.node_links = probe_nodes(world);
  report.network_links = probe_network(world);
  // Only now, since connections are made when the first messages are sent.
  for (const std::string& line : world.all().all_gather(to_line(report_rank(world))))
    report.ranks.push_back(parse_rank_report(line));
  report.shared_bytes = bytes_shared(report);
  report.warnings = warnings_of(report);
  return report;
}

std::vector<std::string> warnings_of(const JobReport& report) {
  std::vector<std::string> warnings;
  std::set<std::string> versions;
  for (const RankReport& rank : report.ranks) versions.insert(rank.version);
  if (versions.size() > 1)
    warnings.push_back(fmt::format("the ranks run different versions of the program: {}",
                                   joined(std::vector<std::string>(versions.begin(), versions.end()))));
  for (const auto& [machine, ranks] : by_machine(report)) {
    warn_of_cores(ranks, warnings);
    warn_of_memory(report, ranks, warnings);
  }
  if (report.machines > 1) warn_of_network(report, warnings);
  return warnings;
}

std::string job_text(const JobReport& report) {
  std::string text = fmt::format("Job\n  {} ranks on {}; {}, threads {}\n\n", report.ranks.size(),
                                 counted(report.machines, "machine"), report.mpi_version, report.thread_level);
  std::vector<std::vector<std::string>> rows{{"rank", "host", "cores", "replicas", "/dev/shm", "free", "interface"}};
  for (const RankReport& rank : report.ranks)
    rows.push_back({fmt::format("{}", rank.rank), rank.host, fmt::format("{} of {}", rank.cores, rank.hardware_threads),
                    fmt::format("{}", rank.replicas), bytes_text(static_cast<double>(rank.shared_memory_total)),
                    bytes_text(static_cast<double>(rank.shared_memory_free)), names_of(rank.interfaces)});
  text +=
      text_table(rows, {Align::right, Align::left, Align::left, Align::right, Align::right, Align::right, Align::left});
  text += fmt::format("\n  {} shares {} of memory on a machine; it has no name, so /dev/shm does not limit it\n",
                      report.model, bytes_text(static_cast<double>(report.shared_bytes)));
  text += "\nMessages\n  within a machine   " + links_text(report.node_links);
  text += "  between machines   " + links_text(report.network_links);
  for (const std::string& warning : report.warnings) text += "\nWARNING: " + printable(warning);
  return text + (report.warnings.empty() ? "" : "\n");
}

std::string job_json(const JobReport& report) {
  Json ranks = Json::array();
  for (const RankReport& rank : report.ranks) ranks.push_back(to_json(rank));
  const Json json{{"machines", report.machines},
                  {"mpi", report.mpi_version},
                  {"thread_level", report.thread_level},
                  {"ranks", ranks},
                  {"within_machines", to_json(report.node_links)},
                  {"between_machines", to_json(report.network_links)},
                  {"model", report.model},
                  {"shared_bytes", report.shared_bytes},
                  {"warnings", report.warnings}};
  return json.dump(2) + "\n";
}

}  // namespace lockring::app
