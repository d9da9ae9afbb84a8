// lockring select: the best of many runs, to be served.
#include "apps/command.h"
#include "apps/data_options.h"
#include "apps/loaded_model.h"
#include "apps/option_values.h"
#include "apps/runs/metric.h"
#include "apps/select/rank.h"
#include "apps/select/reproduce.h"
#include "apps/select/selection.h"
#include "apps/terminal.h"
#include "apps/text_table.h"
#include "core/error.h"
#include "core/text.h"
#include "nn/bundle.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

namespace lockring::app {
namespace fs = std::filesystem;
namespace {

struct Options : DataOptions {
  std::vector<std::string> runs;
  int top = 1;
  std::string metric = "val_accuracy";
  std::string output = "selection.json";
  bool unchecked = false;
  bool json = false;
  CacheOptions cache;
};

void complain(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) fmt::print(stderr, "lockring: warning: {}\n", printable(problem));
}

// Each name is a run or a folder of runs; a run that is named twice counts once.
std::vector<RunRecord> read_runs(const std::vector<std::string>& names) {
  std::vector<RunRecord> runs;
  const auto add = [&](const fs::path& path) {
    std::error_code ignored;
    if (std::ranges::any_of(runs, [&](const RunRecord& run) { return fs::equivalent(run.path, path, ignored); }))
      return;
    runs.push_back(read_run(path));
    complain(runs.back().problems);
  };
  for (const std::string& name : names) {
    std::error_code ignored;
    std::vector<std::string> problems;
    std::vector<fs::path> found;
    if (!is_run_directory(name) && fs::is_directory(name, ignored)) found = find_runs(name, problems);
    complain(problems);
    if (found.empty()) found.push_back(named_run(name));
    for (const fs::path& path : found) add(path);
  }
  return runs;
}

std::string runs_table(const std::vector<RunRecord>& ranked, const std::string& metric, int chosen) {
  std::vector<std::string> columns = {metric};
  for (const char* more : {"val_accuracy", "val_loss", "parameters"})
    if (more != metric) columns.emplace_back(more);
  std::vector<std::vector<std::string>> rows{{"", "run", "model"}};
  for (const std::string& column : columns) rows.front().push_back(heading(column));
  rows.front().emplace_back("");
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const RunRecord& run = ranked[i];
    rows.push_back({std::cmp_less(i, chosen) ? "*" : "", run.path.string(), run.setting("model")});
    for (const std::string& column : columns) rows.back().push_back(metric_text(run, column));
    rows.back().push_back(why_not(run, metric));
  }
  std::vector<Align> alignment(3, Align::left);
  alignment.resize(3 + columns.size(), Align::right);
  alignment.push_back(Align::left);
  return text_table(std::move(rows), alignment);
}

// So that the same runs give the same selection, wherever and however often they were trained.
std::map<std::string, double> outcome_of(const RunRecord& run, const std::string& metric) {
  std::map<std::string, double> metrics = run.metrics;
  std::erase_if(metrics, [&](const auto& one) { return one.first != metric && is_of_machine(one.first); });
  return metrics;
}

// Ranks and says what the model is chosen for.
SelectedModel choose(const Options& options, const RunRecord& run, const std::string& metric, std::size_t place,
                     const std::vector<std::string>& taken) {
  const fs::path bundle = run.path / "best.safetensors";
  const LoadedModel loaded = load_model(bundle);
  SelectedModel model{.name = model_name_for(fs::absolute(run.path).lexically_normal().filename().string(), taken),
                      .bundle = bundle,
                      .digest = nn::bundle_digest(bundle),
                      .architecture = loaded.info.architecture,
                      .run = run.path.string(),
                      .metrics = outcome_of(run, metric),
                      .reproduced = !options.unchecked,
                      .why = fmt::format("place {} by {} {}", place + 1, metric, metric_text(run, metric))};
  if (options.unchecked) return model;
  const Reproduction again = reproduce(run, loaded, metric, options, options.cache);
  model.why += fmt::format("; computed again: {} of {} right, recorded {}", with_thousands(again.found),
                           with_thousands(again.images), with_thousands(again.recorded));
  return model;
}

void check_enough(const std::vector<RunRecord>& ranked, const std::string& metric, int top) {
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < ranked.size(); ++i)
    if (const std::string reason = why_not(ranked[i], metric); !reason.empty())
      reasons.push_back(fmt::format("{} {}", ranked[i].path.string(), reason));
  const auto fit = static_cast<int>(ranked.size() - reasons.size());
  check(top <= fit, "--top {} is more than the {} that can be chosen by {}{}", top, counted(fit, "run"), metric,
        reasons.empty() ? "" : ": " + joined(reasons, "; "));
}

void print_json(const Selection& selection, const std::vector<RunRecord>& ranked) {
  nlohmann::ordered_json json = {{"metric", selection.metric},
                                 {"chosen", nlohmann::ordered_json::array()},
                                 {"runs", nlohmann::ordered_json::array()}};
  for (const SelectedModel& model : selection.models)
    json["chosen"].push_back(
        {{"name", model.name}, {"bundle", model.bundle.string()}, {"sha256", model.digest}, {"why", model.why}});
  for (const RunRecord& run : ranked) {
    const auto value = run.metrics.find(selection.metric);
    const bool known = value != run.metrics.end() && std::isfinite(value->second);
    json["runs"].push_back({{"run", run.path.string()},
                            {"value", known ? nlohmann::ordered_json(value->second) : nullptr},
                            {"why_not", why_not(run, selection.metric)}});
  }
  print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

int run(const Options& options) {
  std::vector<RunRecord> runs = read_runs(options.runs);
  const std::string metric = find_metric(options.metric, runs);
  rank_to_select(runs, metric);
  // Those that cannot be chosen come last, whatever their place by the metric alone.
  std::ranges::stable_partition(runs, [&](const RunRecord& run) { return why_not(run, metric).empty(); });
  check_enough(runs, metric, options.top);
  if (!options.json) print_text(runs_table(runs, metric, options.top) + "\n");
  Selection selection{.metric = metric, .models = {}};
  std::vector<std::string> taken;
  for (std::size_t i = 0; std::cmp_less(i, options.top); ++i) {
    selection.models.push_back(choose(options, runs[i], metric, i, taken));
    taken.push_back(selection.models.back().name);
    if (!options.json) print("{}: {}\n", printable(taken.back()), selection.models.back().why);
  }
  write_selection(options.output, selection);
  if (options.json) {
    print_json(selection, runs);
  } else {
    print("{}\nwritten: {}\n", kTieBreak, printable(options.output));
  }
  if (metric.starts_with("test_"))
    fmt::print(stderr, "note: chosen by test images, whose figures say nothing unbiased about these models any more\n");
  return 0;
}

}  // namespace

Action select(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("RUN", options->runs, "directories of runs, their names in runs/, or folders of runs")->required();
  app.add_option("--top", options->top, "how many to choose")->check(above(0));
  app.add_option("--by", options->metric, "metric to choose by; test figures only if you name one")
      ->type_name("METRIC");
  app.add_option("--output", options->output, "file to write")->type_name("FILE");
  app.add_flag("--unchecked", options->unchecked, "do not compute again what the chosen runs say of themselves");
  app.add_flag("--json", options->json, "print one JSON object");
  add_data_options(app, *options);
  add_cache_options(app, options->cache);
  app.footer("Example:\n  lockring select runs/* --top 2 --by val_accuracy\n  lockring serve selection.json");
  return [options] { return run(*options); };
}

}  // namespace lockring::app
