// lockring runs: what there is to tell of run directories.
#include "apps/command.h"
#include "apps/runs/metric.h"
#include "apps/runs/remove_runs.h"
#include "apps/runs/show_runs.h"
#include "apps/terminal.h"
#include "core/error.h"
#include "core/text.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <memory>

namespace lockring::app {
namespace fs = std::filesystem;
namespace {

struct Options {
  std::string folder = "runs";
  std::vector<std::string> names;
  std::string metric;
  bool json = false;
  bool yes = false;
};

// On stderr, apart from the tables.
void complain(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems)
    std::fprintf(stderr, "lockring: warning: %s\n", printable(problem).c_str());
}

RunRecord read_named(const std::string& name) {
  RunRecord run = read_run(named_run(name));
  complain(run.problems);
  return run;
}

int ls(const Options& options) {
  std::vector<std::string> problems;
  std::vector<RunRecord> runs;
  for (const fs::path& path : find_runs(options.folder, problems)) runs.push_back(read_run(path));
  const std::string metric = options.metric.empty() ? "" : find_metric(options.metric, runs);
  if (!metric.empty()) rank(runs, metric);
  complain(problems);
  if (options.json) {
    print_text(runs_json(runs));
    return 0;
  }
  for (const RunRecord& run : runs) complain(run.problems);
  print_text(runs.empty() ? fmt::format("no runs in {}\n", printable(options.folder)) : runs_table(runs, metric));
  return 0;
}

int show(const Options& options) {
  const RunRecord run = read_named(options.names.front());
  print_text(options.json ? run_json(run) : run_text(run, shows_utf8()));
  return 0;
}

int compare(const Options& options) {
  check(options.names.size() >= 2, "a comparison takes at least two runs");
  std::vector<RunRecord> runs;
  for (const std::string& name : options.names) runs.push_back(read_named(name));
  print_text(options.json ? comparison_json(runs) : comparison_text(runs));
  return 0;
}

bool ask(const std::string& what) {
  check(is_terminal(stdin), "standard input is no terminal to ask on; give --yes to remove {}", what);
  print("remove {}? [y/N] ", printable(what));
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

int remove(const Options& options) {
  std::vector<fs::path> runs;
  for (const std::string& name : options.names) {
    const fs::path run = named_run(name);
    std::error_code ignored;
    const auto same = [&](const fs::path& other) { return fs::equivalent(run, other, ignored); };
    if (std::ranges::none_of(runs, same)) runs.push_back(run);
  }
  const bool removed = remove_runs(runs, [&](const std::string& what) { return options.yes || ask(what); });
  print("{}\n", removed ? "removed " + counted(std::ssize(runs), "run") : "nothing removed");
  return removed ? 0 : 1;
}

std::shared_ptr<Options> json_option(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_flag("--json", options->json, "print JSON");
  return options;
}

}  // namespace

Action runs_ls(CLI::App& app) {
  auto options = json_option(app);
  app.add_option("DIR", options->folder, "folder to look in, with its subfolders");
  app.add_option("--by", options->metric, "put the best by this metric first, such as val_accuracy");
  app.footer("Example:\n  lockring runs ls --by test_accuracy");
  return [options] { return ls(*options); };
}

Action runs_show(CLI::App& app) {
  auto options = json_option(app);
  app.add_option("RUN", options->names, "directory of a run, or its name in runs/")->required()->expected(1);
  app.footer("Example:\n  lockring runs show cnn-1");
  return [options] { return show(*options); };
}

Action runs_compare(CLI::App& app) {
  auto options = json_option(app);
  app.add_option("RUN", options->names, "directories of runs, or their names in runs/")->required();
  app.footer("Example:\n  lockring runs compare cnn-1 cnn-2");
  return [options] { return compare(*options); };
}

Action runs_rm(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("RUN", options->names, "directories of runs, or their names in runs/")->required();
  app.add_flag("--yes", options->yes, "do not ask");
  app.footer("Example:\n  lockring runs rm cnn-1");
  return [options] { return remove(*options); };
}

}  // namespace lockring::app
