// What the page shows of the server, four times a second: cheap to make.
#include "apps/memory.h"
#include "apps/program.h"
#include "apps/serve/describe.h"
#include "apps/serve/metrics.h"

#include <nlohmann/json.hpp>

namespace lockring::app::serve {
namespace {

using Json = nlohmann::ordered_json;

std::uint64_t value_of(const Counter& counter) { return counter.load(std::memory_order_relaxed); }

Json bucket_counts(const Durations& durations) {
  Json counts = Json::array();
  for (std::size_t i = 0; i <= durations.bounds().size(); ++i) counts.push_back(durations.count(i));
  return counts;
}

Json members_json(const Description& description) {
  Json members = Json::array();
  for (const auto& [name, weight] : description.members) members.push_back({{"name", name}, {"weight", weight}});
  return members;
}

Json metrics_json(const Description& description) {
  Json metrics = Json::object();
  for (const auto& [name, value] : description.metrics) metrics[name] = value;
  return metrics;
}

Json versions_json(const Repository& repository, const std::string& name) {
  Json versions = Json::array();
  for (const auto& version : repository.all_versions(name)) versions.push_back(version->description().version);
  return versions;
}

Json model_json(const Servable& servable, const Json& versions) {
  const Description& description = servable.description();
  const Counters& counters = servable.counters();
  const Load load = servable.load();
  const Durations& seconds = counters.request_seconds;
  return {{"name", description.name},
          {"version", description.version},
          {"versions", versions},
          {"platform", description.platform},
          {"architecture", description.architecture},
          {"parameters", description.parameters},
          {"sha256", description.digest},
          {"metrics", metrics_json(description)},
          {"classes", description.classes},
          {"image", {description.image[0], description.image[1], description.image[2]}},
          {"members", members_json(description)},
          {"method", description.method},
          {"policy", description.policy},
          {"replicas", load.replicas},
          {"queued", load.queued},
          {"running", load.running},
          {"success", value_of(counters.success)},
          {"failures", value_of(counters.refused) + value_of(counters.late) + value_of(counters.cancelled) +
                           value_of(counters.failed)},
          {"p50_ms", 1e3 * quantile(seconds, 0.5)},
          {"p99_ms", 1e3 * quantile(seconds, 0.99)},
          {"latency_counts", bucket_counts(seconds)}};
}

}  // namespace

std::string status_json(const Repository& repository, const JobStore& jobs, bool ready, bool has_run) {
  Json models = Json::array();
  for (const auto& servable : repository.all())
    models.push_back(model_json(*servable, versions_json(repository, servable->description().name)));
  Json problems = Json::array();
  for (const IndexRow& row : repository.index())
    if (row.state != "READY")
      problems.push_back({{"name", row.name}, {"version", row.version}, {"reason", row.reason}});
  const JobStore::Counts counts = jobs.counts();
  const Durations bounds;
  const Json json = {{"program", "lockring"},
                     {"version", version()},
                     {"ready", ready},
                     {"workflow_run", has_run},
                     {"resident_bytes", resident_bytes()},
                     {"latency_bounds", std::vector<double>(bounds.bounds().begin(), bounds.bounds().end())},
                     {"models", models},
                     {"problems", problems},
                     {"jobs", {{"kept", counts.kept}, {"running", counts.running}}}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lockring::app::serve
