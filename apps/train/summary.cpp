#include "apps/train/summary.h"

#include "apps/memory.h"
#include "apps/report.h"
#include "apps/terminal.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace lockring::app {
namespace {

nlohmann::ordered_json trace_json(const Trace& trace) {
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  for (const Trace::Share& share : trace.shares()) {
    nlohmann::ordered_json part = {{"part", name_of(share.part)}};
    if (!share.layer.empty()) part["layer"] = share.layer;
    part["microseconds"] = share.microseconds;
    part["share"] = share.fraction;
    parts.push_back(std::move(part));
  }
  return {{"steps", trace.steps().size()}, {"step_microseconds", trace.step_microseconds()}, {"parts", parts}};
}

}  // namespace

std::string summary_json(const Summary& summary, const TrainOptions& options, const Setup& setup,
                         const TrainState& state) {
  const bool validated = state.best_epoch > 0;
  nlohmann::ordered_json json = {
      {"model", options.model},
      {"parameters", summary.parameters},
      {"epochs", summary.epochs},
      {"seed", options.seed},
      {"replicas", summary.replicas},
      {"images_per_second", summary.timing.images_per_second()},
      {"wall_seconds", summary.wall_seconds},
      {"data_wait_fraction", summary.timing.data_wait_fraction()},
      {"peak_rss_bytes", peak_resident_bytes()},
      {"val_accuracy", validated ? nlohmann::ordered_json(state.best_accuracy) : nullptr},
      {"val_loss", validated ? nlohmann::ordered_json(state.best_loss) : nullptr},
      {"test_accuracy", summary.test.accuracy()},
      {"test_loss", summary.test.loss},
      {"best_epoch", state.best_epoch},
      {"steps", state.step},
      {"bundle", summary.bundle.string()},
      {"dataset", setup.dataset.name},
      {"data_digest", setup.dataset.digest},
      {"data_warning", setup.dataset.warning},
      {"command", options.command},
  };
  if (summary.trace != nullptr) json["trace"] = trace_json(*summary.trace);
  // Paths are what the user made them, not always UTF-8.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string summary_text(const Summary& summary, const Setup& setup, const TrainState& state) {
  const std::string best = state.best_epoch > 0 ? fmt::format(", best epoch {}", state.best_epoch) : "";
  return fmt::format(
      "test accuracy {:.4f}, loss {:.4f}{}\n\n{}\n{}{} images/s, data wait {:.1f} %, {} in all\nbundle: {}\n",
      summary.test.accuracy(), summary.test.loss, best, confusion_table(summary.test, setup.dataset.classes),
      summary.trace != nullptr ? trace_table(*summary.trace) + "\n" : "",
      with_thousands(static_cast<std::int64_t>(summary.timing.images_per_second())),
      100 * summary.timing.data_wait_fraction(), duration_text(summary.wall_seconds), summary.bundle.string());
}

}  // namespace lockring::app
