#include "apps/select/rank.h"

#include "apps/runs/metric.h"
#include "core/error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace lockring::app {
namespace fs = std::filesystem;
namespace {

double value_or(const RunRecord& run, const char* metric, double other) {
  const auto found = run.metrics.find(metric);
  return found == run.metrics.end() || std::isnan(found->second) ? other : found->second;
}

// Writing its configuration is the first thing a run does, and the last it does to that file.
auto tie_key(const RunRecord& run) {
  constexpr double kWorst = std::numeric_limits<double>::infinity();
  std::error_code ignored;
  return std::tuple(value_or(run, "val_loss", kWorst), value_or(run, "parameters", kWorst),
                    fs::last_write_time(run.path / "config.toml", ignored), run.path);
}

}  // namespace

void rank_to_select(std::vector<RunRecord>& runs, const std::string& metric) {
  std::ranges::sort(runs, {}, tie_key);
  rank(runs, metric);
}

std::string why_not(const RunRecord& run, const std::string& metric) {
  const auto value = run.metrics.find(metric);
  if (value == run.metrics.end()) return fmt::format("has no {}", metric);
  if (!std::isfinite(value->second)) return fmt::format("{} is not finite", metric);
  if (run.status.state != RunState::finished)
    return std::string("is not finished: ") + std::string(name_of(run.status.state));
  std::error_code ignored;
  return fs::exists(run.path / "best.safetensors", ignored) ? "" : "has no best.safetensors";
}

}  // namespace lockring::app
