#include "apps/runs/run_record.h"

#include "apps/run_lock.h"
#include "apps/toml.h"
#include "core/error.h"
#include "core/files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

namespace lockring::app {
namespace fs = std::filesystem;
namespace {

// A file's text, or a problem if it is there and cannot be read.
std::optional<std::string> text_of(RunRecord& run, const char* name) {
  const fs::path path = run.path / name;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  try {
    return read_file(path);
  } catch (const Error& error) {
    run.problems.emplace_back(error.what());
    return std::nullopt;
  }
}

// The numbers of an object; null is how one that is not finite is written.
Metrics numbers_of(const nlohmann::json& json) {
  Metrics numbers;
  for (const auto& [name, value] : json.items()) {
    if (value.is_number()) numbers[name] = value.get<double>();
    if (value.is_null()) numbers[name] = std::numeric_limits<double>::quiet_NaN();
  }
  return numbers;
}

void read_config(RunRecord& run) {
  const auto text = text_of(run, "config.toml");
  if (!text) return run.problems.push_back(fmt::format("{} is not there", (run.path / "config.toml").string()));
  try {
    for (const TomlEntry& entry : parse_toml(*text, (run.path / "config.toml").string()))
      run.config.emplace_back(entry.key, entry.values.empty() ? "" : entry.values.front());
  } catch (const Error& error) {
    run.problems.emplace_back(error.what());
  }
}

// 0 if it has none.
std::int64_t epoch_of(const nlohmann::json& line) {
  const auto epoch = line.is_object() ? line.find("epoch") : line.end();
  return line.is_object() && epoch != line.end() && epoch->is_number_integer() ? epoch->get<std::int64_t>() : 0;
}

// The later of two lines of one epoch counts. While training goes on, the last line may be under way.
void read_metrics(RunRecord& run) {
  const std::string text = text_of(run, "metrics.jsonl").value_or("");
  std::map<std::int64_t, Metrics> epochs;
  int number = 0;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const nlohmann::json line = nlohmann::json::parse(text.substr(begin, end - begin), nullptr, false);
    begin = end + 1;
    if (epoch_of(line) >= 1) {
      epochs[epoch_of(line)] = numbers_of(line);
    } else if (end < text.size() || run.status.state != RunState::running) {
      run.problems.push_back(
          fmt::format("{}:{} is no whole line of an epoch", (run.path / "metrics.jsonl").string(), number + 1));
    }
  }
  for (auto& [epoch, metrics] : epochs) run.epochs.push_back(std::move(metrics));
}

double value_of(const Metrics& metrics, const std::string& name) {
  const auto found = metrics.find(name);
  return found == metrics.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

// The line whose parameters best.safetensors holds: NaN is never better (apps/train/state.h).
const Metrics& best_epoch(const std::vector<Metrics>& epochs) {
  const Metrics* best = nullptr;
  for (const Metrics& epoch : epochs) {
    const double accuracy = value_of(epoch, "val_accuracy");
    if (std::isnan(accuracy)) continue;
    const double best_accuracy = best == nullptr ? -1 : value_of(*best, "val_accuracy");
    const bool ties = accuracy == best_accuracy && value_of(epoch, "val_loss") < value_of(*best, "val_loss");
    if (accuracy > best_accuracy || ties) best = &epoch;
  }
  return best != nullptr ? *best : epochs.back();
}

// What is not the best epoch's alone.
void take_sums(RunRecord& run) {
  double seconds = 0;
  double images = 0;
  double waited = 0;
  double resident = 0;
  for (const Metrics& epoch : run.epochs) {
    const double took = value_of(epoch, "seconds");
    seconds += took;
    images += took * value_of(epoch, "images_per_second");
    waited += took * value_of(epoch, "data_wait_fraction");
    resident = std::max(resident, value_of(epoch, "resident_bytes"));
  }
  const Metrics sums = {{"seconds", seconds},
                        {"images_per_second", images / seconds},
                        {"data_wait_fraction", waited / seconds},
                        {"resident_bytes", resident}};
  for (const auto& [name, value] : sums)
    if (run.metrics.contains(name)) run.metrics[name] = value;
}

void take_epochs(RunRecord& run) {
  if (run.epochs.empty()) return;
  run.metrics = best_epoch(run.epochs);
  run.metrics["best_epoch"] = run.metrics["epoch"];
  run.metrics["epochs"] = static_cast<double>(run.epochs.size());
  if (const auto step = run.epochs.back().find("step"); step != run.epochs.back().end())
    run.metrics["steps"] = step->second;
  for (const char* of_an_epoch : {"epoch", "step", "learning_rate"}) run.metrics.erase(of_an_epoch);
  take_sums(run);
}

void take_summary(RunRecord& run) {
  const auto text = text_of(run, "summary.json");
  if (!text) return;
  const nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object())
    return run.problems.push_back(fmt::format("{} is not a JSON object", (run.path / "summary.json").string()));
  if (json.contains("command") && json["command"].is_string()) run.command = json["command"];
  if (run.status.state != RunState::finished) return;  // it is of an earlier end
  for (const auto& [name, value] : numbers_of(json))   // null: not measured
    if (name != "seed" && !std::isnan(value)) run.metrics[name] = value;
}

// A run without a status is of before there was one.
RunStatus read_status(RunRecord& run) {
  constexpr std::chrono::milliseconds kBriefly{20};
  if (!RunLock().take(run.path, kBriefly)) return {RunState::running, ""};
  const auto text = text_of(run, "status.json");
  std::error_code ignored;
  if (!text) return {fs::exists(run.path / "summary.json", ignored) ? RunState::finished : RunState::stopped, ""};
  const std::optional<RunStatus> status = parse_status(*text);
  if (!status) run.problems.push_back(fmt::format("{} tells no state", (run.path / "status.json").string()));
  if (!status || status->state == RunState::running) return {RunState::stopped, ""};
  return *status;
}

}  // namespace

std::string RunRecord::setting(const std::string& name) const {
  const auto found = std::ranges::find(config, name, &std::pair<std::string, std::string>::first);
  return found == config.end() ? "" : found->second;
}

RunRecord read_run(const fs::path& folder) {
  RunRecord run;
  run.path = folder;
  run.status = read_status(run);
  read_config(run);
  read_metrics(run);
  take_epochs(run);
  take_summary(run);
  return run;
}

std::vector<std::string> differing_settings(std::span<const RunRecord> runs) {
  std::vector<std::string> names;
  for (const RunRecord& run : runs) {
    for (const auto& [name, value] : run.config) {
      const bool differs =
          std::ranges::any_of(runs, [&](const RunRecord& other) { return other.setting(name) != value; });
      if (differs && std::ranges::count(names, name) == 0) names.push_back(name);
    }
  }
  return names;
}

}  // namespace lockring::app
