#include "apps/runs/metric.h"
#include "apps/runs/show_runs.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace lockring::app {
namespace {

using Json = nlohmann::ordered_json;

// Paths and messages are not always UTF-8.
std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json metrics_json(const Metrics& metrics) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics) {
    const bool whole = std::floor(value) == value && std::abs(value) < 1e15;
    json[name] = !std::isfinite(value) ? Json(nullptr) : whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
  }
  return json;
}

// A number or a truth where the text is one.
Json setting_json(const std::string& text) {
  const Json value = Json::parse(text, nullptr, false);
  return value.is_number() || value.is_boolean() ? value : Json(text);
}

Json config_json(const RunRecord& run) {
  Json json = Json::object();
  for (const auto& [name, value] : run.config) json[name] = setting_json(value);
  return json;
}

Json record_json(const RunRecord& run) {
  return {{"run", run.path.string()}, {"state", name_of(run.status.state)}, {"message", run.status.message},
          {"command", run.command},   {"config", config_json(run)},         {"metrics", metrics_json(run.metrics)},
          {"problems", run.problems}};
}

}  // namespace

std::string runs_json(std::span<const RunRecord> runs) {
  Json json = Json::array();
  for (const RunRecord& run : runs) json.push_back(record_json(run));
  return dump(json);
}

std::string run_json(const RunRecord& run) {
  Json json = record_json(run);
  json["epochs"] = Json::array();
  for (const Metrics& epoch : run.epochs) json["epochs"].push_back(metrics_json(epoch));
  return dump(json);
}

std::string comparison_json(std::span<const RunRecord> runs) {
  Json json = {{"runs", Json::array()}, {"config", Json::object()}, {"metrics", Json::object()}};
  for (const RunRecord& run : runs) json["runs"].push_back(run.path.string());
  for (const std::string& name : differing_settings(runs))
    for (const RunRecord& run : runs) json["config"][name].push_back(setting_json(run.setting(name)));
  for (const std::string& name : metric_names(runs))
    for (const RunRecord& run : runs) {
      const auto found = run.metrics.find(name);
      const bool known = found != run.metrics.end() && std::isfinite(found->second);
      json["metrics"][name].push_back(known ? Json(found->second) : Json(nullptr));
    }
  return dump(json);
}

}  // namespace lockring::app
