#include "apps/runs/metric.h"

#include "apps/terminal.h"
#include "core/error.h"
#include "core/text.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lockring::app {
namespace {

enum class Unit { plain, count, share, seconds, bytes };
enum class Better { higher, lower, neither };

struct Known {
  const char* name;
  const char* heading;  // of a column; names the metric as well
  Unit unit;
  Better better;
  bool of_machine = false;  // tells of where it ran, not of what came out
};

// In the order that they are shown in.
constexpr Known kKnown[] = {
    {"val_accuracy", "val_acc", Unit::plain, Better::higher},
    {"val_loss", "val_loss", Unit::plain, Better::lower},
    {"test_accuracy", "test_acc", Unit::plain, Better::higher},
    {"test_loss", "test_loss", Unit::plain, Better::lower},
    {"train_accuracy", "acc", Unit::plain, Better::higher},
    {"train_loss", "loss", Unit::plain, Better::lower},
    {"epoch", "epoch", Unit::count, Better::neither},
    {"best_epoch", "best_epoch", Unit::count, Better::neither},
    {"epochs", "epochs", Unit::count, Better::neither},
    {"steps", "steps", Unit::count, Better::neither},
    {"parameters", "parameters", Unit::count, Better::neither},
    {"replicas", "replicas", Unit::count, Better::neither, true},
    {"learning_rate", "lr", Unit::plain, Better::neither},
    {"images_per_second", "img/s", Unit::count, Better::higher, true},
    {"seconds", "time", Unit::seconds, Better::lower, true},
    {"wall_seconds", "wall_time", Unit::seconds, Better::lower, true},
    {"data_wait_fraction", "wait", Unit::share, Better::lower, true},
    {"resident_bytes", "memory", Unit::bytes, Better::lower, true},
    {"peak_rss_bytes", "peak_memory", Unit::bytes, Better::lower, true},
};

// Null if it is none of these.
const Known* find_known(const std::string& name) {
  const auto* found = std::ranges::find_if(kKnown, [&](const Known& k) { return name == k.name || name == k.heading; });
  return found != std::end(kKnown) ? found : nullptr;
}

Unit unit_of(const std::string& name) {
  const Known* known = find_known(name);
  return known != nullptr ? known->unit : Unit::plain;
}

Better better_of(const std::string& name) {
  if (const Known* known = find_known(name)) return known->better;
  const bool less = name.find("loss") != std::string::npos || name.ends_with("seconds") || name.ends_with("bytes");
  return less ? Better::lower : Better::higher;
}

double value_or_nan(const RunRecord& run, const std::string& metric) {
  const auto found = run.metrics.find(metric);
  return found == run.metrics.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

// Finished runs before others, and both before those without a value.
int class_of(const RunRecord& run, const std::string& metric) {
  if (!std::isfinite(value_or_nan(run, metric))) return 2;
  return run.status.state == RunState::finished ? 0 : 1;
}

}  // namespace

bool is_of_machine(const std::string& name) {
  const Known* known = find_known(name);
  return known != nullptr && known->of_machine;
}

std::string metric_text(const RunRecord& run, const std::string& name) {
  const auto found = run.metrics.find(name);
  if (found == run.metrics.end()) return "-";
  const double value = found->second;
  if (!std::isfinite(value)) return "nan";
  switch (unit_of(name)) {
    case Unit::count:
      if (std::abs(value) < 1e15) return with_thousands(std::llround(value));
      break;
    case Unit::share:
      return fmt::format("{:.1f} %", 100 * value);
    case Unit::seconds:
      return duration_text(value);
    case Unit::bytes:
      return bytes_text(value);
    case Unit::plain:
      break;
  }
  return std::abs(value) >= 1e-2 && std::abs(value) < 1e4 ? fmt::format("{:.4f}", value) : fmt::format("{:.3g}", value);
}

std::string heading(const std::string& name) {
  const Known* known = find_known(name);
  return known != nullptr ? known->heading : name;
}

std::vector<std::string> metric_names(std::span<const RunRecord> runs) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::ranges::count(names, name) == 0) names.push_back(name);
  };
  for (const Known& metric : kKnown)
    if (std::ranges::any_of(runs, [&](const RunRecord& run) { return run.metrics.contains(metric.name); }))
      add(metric.name);
  for (const RunRecord& run : runs)
    for (const auto& [name, value] : run.metrics) add(name);
  return names;
}

std::string find_metric(const std::string& name, std::span<const RunRecord> runs) {
  if (const Known* known = find_known(name)) return known->name;
  const std::vector<std::string> names = metric_names(runs);
  if (std::ranges::count(names, name) > 0) return name;
  std::vector<std::string> words = names;
  for (const std::string& of_run : names) words.push_back(heading(of_run));
  fail(ErrorCode::usage, "there is no metric '{}'{}; there are {}", name, did_you_mean(name, words), joined(names));
}

void rank(std::vector<RunRecord>& runs, const std::string& metric) {
  const bool lower = better_of(metric) == Better::lower;
  std::ranges::stable_sort(runs, [&](const RunRecord& a, const RunRecord& b) {
    const int class_a = class_of(a, metric);
    const int class_b = class_of(b, metric);
    if (class_a != class_b || class_a == 2) return class_a < class_b;
    const double value_a = value_or_nan(a, metric);
    const double value_b = value_or_nan(b, metric);
    return lower ? value_a < value_b : value_a > value_b;
  });
}

bool is_best(const RunRecord& run, std::span<const RunRecord> runs, const std::string& metric) {
  const Better better = better_of(metric);
  const double value = value_or_nan(run, metric);
  return better != Better::neither && std::isfinite(value) && std::ranges::none_of(runs, [&](const RunRecord& other) {
           const double theirs = value_or_nan(other, metric);
           return better == Better::higher ? theirs > value : theirs < value;
         });
}

}  // namespace lockring::app
