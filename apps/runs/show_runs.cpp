#include "apps/runs/show_runs.h"

#include "apps/runs/metric.h"
#include "apps/sparkline.h"
#include "apps/terminal.h"
#include "apps/text_table.h"
#include "core/text.h"

#include <algorithm>
#include <array>

namespace lockring::app {
namespace fs = std::filesystem;
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string epochs_text(const RunRecord& run) {
  const std::string wanted = run.setting("epochs");
  return fmt::format("{}/{}", run.epochs.size(), wanted.empty() ? "?" : wanted);
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

// What an epoch's line has under a name, as text.
std::string cell(const Metrics& epoch, const std::string& name) {
  RunRecord run;
  run.metrics = epoch;
  return metric_text(run, name);
}

Rows config_rows(const RunRecord& run) {
  Rows rows;
  for (const auto& [name, value] : run.config) rows.push_back({name, or_dash(value)});
  return rows;
}

// Of a long run the first and the last.
Rows epoch_rows(const RunRecord& run) {
  constexpr std::size_t kMost = 40;
  constexpr std::size_t kEnd = 15;
  std::vector<std::string> names = {"epoch",    "train_loss",        "train_accuracy",
                                    "val_loss", "val_accuracy",      "learning_rate",
                                    "seconds",  "images_per_second", "data_wait_fraction"};
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::none_of(run.epochs, [&](const Metrics& epoch) { return epoch.contains(name); });
  });
  Rows rows(1);
  for (const std::string& name : names) rows.front().push_back(heading(name));
  const std::size_t count = run.epochs.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (count > kMost && i == kEnd) {
      rows.push_back({"..."});
      i = count - kEnd;
    }
    std::vector<std::string> row;
    for (const std::string& name : names) row.push_back(cell(run.epochs[i], name));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string curves(const RunRecord& run, bool utf8) {
  constexpr std::size_t kColumns = 50;
  Rows rows;
  for (const char* name : {"train_loss", "val_loss", "train_accuracy", "val_accuracy", "learning_rate"}) {
    std::vector<double> values;
    for (const Metrics& epoch : run.epochs)
      if (const auto found = epoch.find(name); found != epoch.end()) values.push_back(found->second);
    // A constant has no curve.
    if (std::ranges::all_of(values, [&](double value) { return value == values.front(); })) continue;
    rows.push_back(
        {name, cell(run.epochs.front(), name), sparkline(values, kColumns, utf8), cell(run.epochs.back(), name)});
  }
  return text_table(rows, {Align::left, Align::right, Align::left, Align::right});
}

std::string files(const RunRecord& run) {
  Rows rows;
  std::error_code error;
  for (fs::directory_iterator entry(run.path, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored))
      rows.push_back({entry->path().filename().string(), bytes_text(static_cast<double>(entry->file_size(ignored)))});
  }
  std::ranges::sort(rows);
  return text_table(rows, {Align::left, Align::right});
}

std::string state_text(const RunRecord& run) {
  const std::string name(name_of(run.status.state));
  return run.status.message.empty() ? name : name + ": " + run.status.message;
}

}  // namespace

std::string runs_table(std::span<const RunRecord> runs, const std::string& metric) {
  std::vector<std::string> names = {"val_accuracy", "val_loss", "test_accuracy", "images_per_second"};
  if (!metric.empty() && std::ranges::count(names, metric) == 0) names.push_back(metric);
  Rows rows = {{"run", "state", "model", "epochs"}};
  for (const std::string& name : names) rows.front().push_back(heading(name));
  std::vector<Align> columns = {Align::left, Align::left, Align::left};
  columns.resize(rows.front().size(), Align::right);
  for (const RunRecord& run : runs) {
    rows.push_back(
        {run.path.string(), std::string(name_of(run.status.state)), or_dash(run.setting("model")), epochs_text(run)});
    for (const std::string& name : names) rows.back().push_back(metric_text(run, name));
  }
  return text_table(rows, columns);
}

std::string run_text(const RunRecord& run, bool utf8) {
  std::string text = fmt::format("{}: {}\n", printable(run.path.string()), printable(state_text(run)));
  if (!run.command.empty()) text += "  " + printable(run.command) + "\n";
  text += "\nconfiguration\n" + text_table(config_rows(run), {Align::left, Align::left});
  if (!run.epochs.empty()) {
    text += "\nepochs\n" + text_table(epoch_rows(run), std::vector<Align>(9, Align::right));
    if (const std::string drawn = curves(run, utf8); !drawn.empty()) text += "\ncurves\n" + drawn;
  }
  Rows rows;
  for (const std::string& name : metric_names({&run, 1})) rows.push_back({name, metric_text(run, name)});
  if (!rows.empty()) text += "\nmetrics\n" + text_table(rows, {Align::left, Align::right});
  return text + "\nfiles\n" + files(run);
}

std::string comparison_text(std::span<const RunRecord> runs) {
  Rows rows = {{""}};
  for (const RunRecord& run : runs) rows.front().push_back(run.path.string());
  rows.push_back({"state"});
  for (const RunRecord& run : runs) rows.back().emplace_back(name_of(run.status.state));
  for (const std::string& name : differing_settings(runs)) {
    rows.push_back({name});
    for (const RunRecord& run : runs) rows.back().push_back(or_dash(run.setting(name)));
  }
  rows.emplace_back();
  for (const std::string& name : metric_names(runs)) {
    rows.push_back({name});
    for (const RunRecord& run : runs)
      rows.back().push_back(metric_text(run, name) + (is_best(run, runs, name) ? " *" : "  "));
  }
  std::vector<Align> columns(runs.size() + 1, Align::right);
  columns.front() = Align::left;
  return text_table(rows, columns);
}

}  // namespace lockring::app
