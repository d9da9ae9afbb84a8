// lockring workflow: runs steps in the order that their inputs ask for, and remembers what they made.
#include "apps/command.h"
#include "apps/option_values.h"
#include "apps/stop_signal.h"
#include "apps/terminal.h"
#include "apps/workflow/collect_garbage.h"
#include "apps/workflow/duration.h"
#include "apps/workflow/file_options.h"
#include "apps/workflow/plan.h"
#include "apps/workflow/schedule.h"
#include "apps/workflow/story_text.h"
#include "apps/workflow/view.h"
#include "core/cpu.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

namespace lockring::app {
namespace fs = std::filesystem;
using namespace workflow;
namespace {

struct Options {
  FileOptions workflow;
  std::string id;
  std::string step;
  int attempt = 0;
  std::string state_dir = ".lockring";
  int slots = 0;
  bool keep_going = false;
  bool no_cache = false;
  bool fresh = false;
  bool keep_serving = false;
  std::vector<std::string> refresh;
  std::string from;
  std::string older_than;
  std::string cron;
  std::vector<std::string> watch;
  std::string every = "10s";
  int limit = 0;
  bool quiet = false;
  bool json = false;

  StateFolder state() const { return {state_dir}; }
};

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

void check_step(const Workflow& workflow, const std::string& name, const std::string& option) {
  std::vector<std::string> names;
  for (const StepSpec& step : workflow.steps) names.push_back(step.name);
  check(workflow.find(name) >= 0, "{}: {} has no step '{}'{}", option, workflow.file, printable(name),
        did_you_mean(name, names));
}

EngineOptions engine_options(const Options& options, const Workflow& workflow) {
  for (const std::string& step : options.refresh) check_step(workflow, step, "--refresh");
  EngineOptions engine;
  engine.slots = options.slots > 0 ? options.slots : usable_cores();
  engine.keep_going = options.keep_going || workflow.keep_going;
  engine.no_cache = options.no_cache;
  engine.refresh = {options.refresh.begin(), options.refresh.end()};
  engine.keep_serving = options.keep_serving;
  engine.program = fs::read_symlink("/proc/self/exe").string();
  engine.now = now;
  engine.stop_signal = stop_signal;
  return engine;
}

void warn_of_wide_steps(const Workflow& workflow, int slots, View& view) {
  for (const StepSpec& step : workflow.steps)
    if (step.resources.slots > slots)
      view.warn(fmt::format("step {} wants {} of {} cores: it will run alone on them", step.name, step.resources.slots,
                            slots));
}

int run_in(const Workflow& workflow, const RunFolder& folder, EngineOptions engine_options, const Options& options) {
  catch_stop_signals();
  View view(workflow, folder, progress_style(options.quiet));
  warn_of_wide_steps(workflow, engine_options.slots, view);
  const StepState end = Engine(workflow, folder, options.state(), std::move(engine_options), view).run();
  view.finish();
  if (options.json)
    print_text(workflow::run_json(workflow::read_run(options.state(), folder.facts().id)));
  else
    print("{}: {}\n", folder.facts().id, name_of(end));
  return end == StepState::succeeded ? 0 : end == StepState::stopped ? 128 + stop_signal() : 1;
}

int run(const Options& options) {
  const Workflow workflow = options.workflow.read();
  check_inputs(workflow);
  const EngineOptions engine = engine_options(options, workflow);
  std::unique_ptr<RunFolder> folder;
  if (!options.fresh) folder = RunFolder::find_unfinished(options.state(), workflow);
  if (folder && !options.quiet) fmt::print(stderr, "going on with {}\n", folder->facts().id);
  if (!folder) folder = RunFolder::make(options.state(), workflow);
  return run_in(workflow, *folder, engine, options);
}

int retry(const Options& options) {
  const std::unique_ptr<RunFolder> folder = RunFolder::open(options.state(), options.id);
  const RunFacts& facts = folder->facts();
  const Workflow workflow = parse_workflow(read_file(folder->path() / "workflow.yaml"), facts.file, facts.parameters);
  check_inputs(workflow);
  EngineOptions engine = engine_options(options, workflow);
  if (!options.from.empty()) {
    check_step(workflow, options.from, "--from");
    engine.refresh.insert(options.from);
    for (const int step : make_graph(workflow).reachable(workflow.find(options.from)))
      engine.again.insert(workflow.steps[static_cast<std::size_t>(step)].name);
  }
  return run_in(workflow, *folder, engine, options);
}

int plan(const Options& options) {
  const Workflow workflow = options.workflow.read();
  check_inputs(workflow);
  std::optional<RunStory> unfinished;
  if (const auto folder = RunFolder::find_unfinished(options.state(), workflow); folder && !options.fresh) {
    std::error_code ignored;
    if (fs::exists(folder->journal(), ignored)) unfinished = tell(read_journal(folder->journal()));
    if (unfinished) unfinished->facts = folder->facts();
  }
  const std::vector<PlannedStep> plan = make_plan(workflow, Cache(options.state()), unfinished ? &*unfinished : nullptr,
                                                  engine_options(options, workflow));
  print_text(options.json ? plan_json(plan) : plan_text(plan));
  return 0;
}

int ls(const Options& options) {
  std::vector<RunStory> runs;
  for (const std::string& id : list_runs(options.state())) runs.push_back(workflow::read_run(options.state(), id));
  if (options.json)
    print_text(workflow::runs_json(runs));
  else
    print_text(runs.empty() ? fmt::format("no runs in {}\n", printable(options.state_dir)) : runs_text(runs));
  return 0;
}

int show(const Options& options) {
  const RunStory run = workflow::read_run(options.state(), options.id);
  print_text(options.json ? workflow::run_json(run) : workflow::run_text(run));
  return 0;
}

// Attempt after attempt, each under a heading if there are several.
int logs(const Options& options) {
  const RunStory run = workflow::read_run(options.state(), options.id);
  std::vector<std::string> names;
  for (const auto& [name, step] : run.steps) names.push_back(name);
  const StepStory* step = run.find(options.step);
  check(step != nullptr, "{} has not come to a step '{}'{}", options.id, printable(options.step),
        did_you_mean(options.step, names));
  check(options.attempt <= step->attempts, "step {} had {} attempts, not {}", options.step, step->attempts,
        options.attempt);
  for (int attempt = 1; attempt <= step->attempts; ++attempt) {
    if (options.attempt != 0 && attempt != options.attempt) continue;
    const fs::path log = options.state().runs() / options.id / "logs" / fmt::format("{}.{}.log", options.step, attempt);
    if (step->attempts > 1 && options.attempt == 0) print("== attempt {}\n", attempt);
    std::error_code ignored;
    if (fs::exists(log, ignored)) print_text(read_file(log));
  }
  return 0;
}

int gc(const Options& options) {
  const double oldest = now() - static_cast<double>(parse_seconds(options.older_than, "--older-than"));
  const Garbage garbage = collect_garbage(options.state(), oldest);
  if (options.json)
    print("{{\"runs\": {}, \"entries\": {}, \"outputs\": {}, \"bytes\": {}}}\n", garbage.runs, garbage.entries,
          garbage.outputs, garbage.bytes);
  else
    print("removed {} runs, {} entries of the cache and {} folders of outputs, {}\n", garbage.runs, garbage.entries,
          garbage.outputs, bytes_text(static_cast<double>(garbage.bytes)));
  return 0;
}

// Between runs, so that Ctrl-C ends the schedule; during a run, the run is asked to stop.
bool nap(double seconds) {
  constexpr double kLook = 0.1;
  const double end = now() + seconds;
  while (now() < end) {
    if (stop_signal() != 0) return false;
    wait_for({}, std::chrono::milliseconds(static_cast<int>(1000 * std::clamp(end - now(), 0.001, kLook))));
  }
  return true;
}

int schedule(const Options& options) {
  check(options.cron.empty() != options.watch.empty(), "give one of --cron and --watch");
  const std::optional<double> every = parse_duration(options.every);
  check(every.has_value(), "--every: expected a time such as 500ms, 10s or 5m, found '{}'", printable(options.every));
  options.workflow.read();  // mistakes are told now, not at night
  catch_stop_signals();
  ScheduleOptions schedule;
  if (!options.cron.empty()) schedule.cron = Cron::parse(options.cron);
  schedule.watched.assign(options.watch.begin(), options.watch.end());
  schedule.look_every = *every;
  schedule.limit = options.limit;
  schedule.now = [] { return static_cast<std::time_t>(now()); };
  schedule.sleep = nap;
  schedule.say = [&](const std::string& text) {
    if (!options.quiet) fmt::print(stderr, "{}\n", text);
  };
  int code = 0;
  // One run that fails is no reason to give up the next.
  keep_schedule(schedule, [&] {
    try {
      code = run(options);
    } catch (const Error& error) {
      code = exit_code(error.code());
      fmt::print(stderr, "lockring: {}\n", printable(error.what()));
    }
    std::fflush(stdout);
    return code <= 128;
  });
  return code;
}

std::shared_ptr<Options> make_options(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("--state-dir", options->state_dir, "where runs, the cache and outputs of workflows are kept")
      ->type_name("DIR");
  app.add_flag("--json", options->json, "print JSON")->configurable(false);
  return options;
}

void add_id(CLI::App& app, Options& options) {
  app.add_option("ID", options.id, "name of a run; see lockring workflow ls")->required();
}

void add_execution(CLI::App& app, Options& options) {
  app.add_option("--slots", options.slots, "cores to fill; 0 for all");
  app.add_flag("--keep-going", options.keep_going, "after a failure go on with what does not depend on it");
  app.add_flag("--no-cache", options.no_cache, "take nothing from the cache");
  app.add_option("--refresh", options.refresh, "run this step although it is in the cache; may be given again")
      ->allow_extra_args(false)
      ->configurable(false)
      ->type_name("STEP");
  app.add_flag("--keep-serving", options.keep_serving, "let servers run until Ctrl-C");
  app.add_flag("-q,--quiet", options.quiet, "show nothing but the result")->configurable(false);
}

}  // namespace

Action workflow_run(CLI::App& app) {
  auto options = make_options(app);
  add_file_options(app, options->workflow);
  add_execution(app, *options);
  app.add_flag("--new", options->fresh, "do not go on with a run that was stopped or killed")->configurable(false);
  app.footer("Example:\n  lockring workflow run workflows/fashion_mnist.yaml --set epochs=5");
  return [options] { return run(*options); };
}

Action workflow_schedule(CLI::App& app) {
  auto options = make_options(app);
  add_file_options(app, options->workflow);
  add_execution(app, *options);
  app.add_option("--cron", options->cron, "when to run: MINUTE HOUR DAY MONTH WEEKDAY, or @daily")->configurable(false);
  app.add_option("--watch", options->watch, "run now, and whenever this file or folder changes; may be given again")
      ->allow_extra_args(false)
      ->configurable(false)
      ->type_name("PATH");
  app.add_option("--every", options->every, "how often to look at what is watched");
  app.add_option("--limit", options->limit, "end after so many runs; 0 for never")->configurable(false);
  app.footer(
      "Examples:\n  lockring workflow schedule workflows/fashion_mnist.yaml --cron '0 3 1 * *'\n"
      "  lockring workflow schedule workflows/fashion_mnist.yaml --watch ~/incoming");
  return [options] { return schedule(*options); };
}

Action workflow_plan(CLI::App& app) {
  auto options = make_options(app);
  add_file_options(app, options->workflow);
  app.add_flag("--no-cache", options->no_cache, "as for lockring workflow run");
  app.add_flag("--new", options->fresh, "as for lockring workflow run")->configurable(false);
  app.footer("Example:\n  lockring workflow plan workflows/fashion_mnist.yaml");
  return [options] { return plan(*options); };
}

Action workflow_ls(CLI::App& app) {
  auto options = make_options(app);
  app.footer("Example:\n  lockring workflow ls");
  return [options] { return ls(*options); };
}

Action workflow_show(CLI::App& app) {
  auto options = make_options(app);
  add_id(app, *options);
  app.footer("Example:\n  lockring workflow show fashion_mnist-1");
  return [options] { return show(*options); };
}

Action workflow_logs(CLI::App& app) {
  auto options = make_options(app);
  add_id(app, *options);
  app.add_option("STEP", options->step, "name of a step")->required();
  app.add_option("--attempt", options->attempt, "only this one; 0 for all")->configurable(false);
  app.footer("Example:\n  lockring workflow logs fashion_mnist-1 cnn");
  return [options] { return logs(*options); };
}

Action workflow_retry(CLI::App& app) {
  auto options = make_options(app);
  add_id(app, *options);
  add_execution(app, *options);
  app.add_option("--from", options->from, "run this step, and those after it whose inputs change by that")
      ->configurable(false)
      ->type_name("STEP");
  app.footer("Example:\n  lockring workflow retry fashion_mnist-1 --from cnn");
  return [options] { return retry(*options); };
}

Action workflow_gc(CLI::App& app) {
  auto options = make_options(app);
  app.add_option("--older-than", options->older_than, "what was not used for so long, such as 12h or 14d")
      ->required()
      ->configurable(false)
      ->type_name("TIME");
  app.footer("Example:\n  lockring workflow gc --older-than 14d");
  return [options] { return gc(*options); };
}

}  // namespace lockring::app
