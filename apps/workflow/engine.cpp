#include "apps/workflow/engine.h"

#include "core/error.h"
#include "data/file_lock.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace lockring::app::workflow {
namespace {

constexpr std::chrono::milliseconds kTick{100};  // how often a terminal's view is looked at
constexpr std::chrono::milliseconds kSoon{10};   // how often what tells nobody is looked at: servers, locks
constexpr std::chrono::milliseconds kAtOnce{0};

RunStory story_until_now(const RunFolder& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder.journal(), ignored) ? tell(read_journal(folder.journal())) : RunStory{};
}

}  // namespace

Engine::Engine(const Workflow& workflow, const RunFolder& folder, const StateFolder& state, EngineOptions options,
               Observer& observer)
    : workflow_(workflow),
      folder_(folder),
      state_(state),
      options_(std::move(options)),
      observer_(observer),
      board_(workflow),
      cache_(state),
      find_([this](const std::string& step, const std::string& output) { return board_.find(step, output); }),
      story_(story_until_now(folder)),
      journal_(folder.journal(), {folder.path() / "workflow.yaml", folder.path() / "run.json"}),
      tasks_(workflow.steps.size()),
      free_slots_(options_.slots) {}

Engine::~Engine() = default;

StepState Engine::run() {
  begin();
  while (!is_done()) turn();
  const bool whole = !failed_ && stopped_by_ == 0;
  if (whole && options_.keep_serving && !working_.empty()) {
    observer_.serving();
    while (stopped_by_ == 0 && !failed_ && !working_.empty()) turn();
  }
  stop_all();
  while (!working_.empty()) turn();
  for (int step = 0; step < board_.size(); ++step)
    if (!is_final(board_.status(step).state)) settle(step, StepState::omitted, "the run ended before it");
  const StepState end = failed_ ? StepState::failed : whole ? StepState::succeeded : StepState::stopped;
  finish(end);
  return end;
}

// A run that was killed may have left processes, if this program was killed and its children's children were not.
void Engine::begin() {
  if (story_.began != 0) {
    kill_marked(kMarkVariable, folder_.facts().mark);
    std::vector<std::string> kept;
    const auto keep = [&](const std::vector<OutputRecord>& outputs) {
      for (const OutputRecord& output : outputs) kept.push_back(output.location);
    };
    for (const auto& [name, step] : story_.steps) keep(step.outputs);
    for (const CacheEntry& entry : cache_.list()) keep(entry.outputs);
    Attempt::remove_leftovers(workflow_, state_, folder_.facts().id, kept);
  }
  began_ = options_.now();
  journal_.add(
      {.kind = JournalEntry::Kind::begin, .time = began_, .step = {}, .message = {}, .key = {}, .outputs = {}});
  for (int step = 0; step < board_.size(); ++step) {
    if (const StepStory* before = story_.find(spec(step).name)) task(step).attempts = before->attempts;
    woken_.insert(step);
  }
}

// Servers that answer are no reason to go on.
bool Engine::is_done() const {
  if (stopped_by_ != 0) return true;
  if (!woken_.empty()) return false;
  for (const int step : working_)
    if (board_.status(step).state != StepState::ready) return false;
  if (failed_ && !options_.keep_going) return true;
  return urgent_.empty() && queue_.empty() && contended_.empty() && delayed_.empty();
}

// What can be started is, then time passes until something ends.
void Engine::turn() {
  consider_woken();
  start_queued();
  if (!woken_.empty() && stopped_by_ == 0) return;
  wait();
  for (const int step : std::vector<int>(working_.begin(), working_.end())) reap(step);
  look_at_clock();
  observer_.tick();
  if (stopped_by_ == 0 && options_.stop_signal && options_.stop_signal() != 0) {
    stopped_by_ = options_.stop_signal();
    stop_all();
  }
}

void Engine::enqueue(int step) {
  const bool waits_for_nobody = spec(step).async || spec(step).resources.slots == 0;
  (waits_for_nobody ? urgent_ : queue_).insert(step);
}

// First what hands on the work that is done: a selection must not wait for the next long training.
void Engine::start_queued() {
  start_from(urgent_, 0);
  start_from(queue_, 1);
}

void Engine::start_from(std::set<int>& queue, int least_slots) {
  for (auto at = queue.begin(); at != queue.end() && free_slots_ >= least_slots && (!failed_ || options_.keep_going);) {
    const int step = *at;
    const bool starts = std::min(spec(step).resources.slots, options_.slots) <= free_slots_;
    at = starts ? queue.erase(at) : std::next(at);
    if (starts) start(step);
  }
}

void Engine::consider_woken() {
  while (!woken_.empty()) {
    const int step = *woken_.begin();
    woken_.erase(woken_.begin());
    consider(step);
  }
}

void Engine::wait() {
  std::vector<int> descriptors;
  bool looks = !contended_.empty();
  for (const int step : working_) {
    const Task& one = task(step);
    if (one.process) descriptors.push_back(one.process->descriptor());
    if (one.update) descriptors.push_back(one.update->descriptor());
    looks |= spec(step).server && board_.status(step).state == StepState::running;
  }
  std::chrono::milliseconds most = looks ? kSoon : kTick;
  for (const int step : delayed_) {
    const auto left = *task(step).not_before - Clock::now();
    most = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(left), kAtOnce, most);
  }
  wait_for(descriptors, most);
}

// Deadlines, pauses after failures, and what others were making.
void Engine::look_at_clock() {
  const Clock::time_point now = Clock::now();
  for (const int step : std::vector<int>(working_.begin(), working_.end())) {
    Task& one = task(step);
    if (!one.process) continue;
    if (one.deadline && now >= *one.deadline) {
      one.verdict = spec(step).server ? fmt::format("it was not ready after {} s", spec(step).server->ready_timeout)
                                      : fmt::format("it took longer than {} s", spec(step).timeout);
      one.deadline.reset();
      one.kill_at = now + options_.grace;
      one.process->signal(SIGTERM);
    } else if (one.kill_at && now >= *one.kill_at) {
      one.kill_at.reset();
      one.process->signal(SIGKILL);
    }
  }
  for (const int step : std::vector<int>(delayed_.begin(), delayed_.end())) {
    if (now < *task(step).not_before) continue;
    delayed_.erase(step);
    enqueue(step);
  }
  for (const int step : std::vector<int>(contended_.begin(), contended_.end())) {
    contended_.erase(step);
    if (!take_from_cache(step)) enqueue(step);
  }
}

void Engine::stop_all() {
  urgent_.clear();
  queue_.clear();
  delayed_.clear();
  contended_.clear();
  for (const int step : working_) {
    Task& one = task(step);
    one.verdict = kStopped;
    one.deadline.reset();
    one.kill_at = Clock::now() + options_.grace;
    if (one.process) one.process->signal(SIGTERM);
    if (one.update) one.update->signal(SIGTERM);
  }
}

void Engine::finish(StepState state) {
  // A run that was stopped may go on.
  if (state != StepState::stopped) Attempt::remove_checkpoints(workflow_, state_, folder_.facts().id);
  if (workflow_.on_exit) run_exit_handler(state);
  journal_.add({.kind = JournalEntry::Kind::finish,
                .time = options_.now(),
                .step = {},
                .state = state,
                .message = {},
                .seconds = options_.now() - began_,
                .key = {},
                .outputs = {}});
  journal_.sync();
}

// Whatever becomes of it, the run has ended as it has.
void Engine::run_exit_handler(StepState state) {
  const StepSpec& handler = *workflow_.on_exit;
  const double started = options_.now();
  JournalEntry entry{.kind = JournalEntry::Kind::end,
                     .time = 0,
                     .step = handler.name,
                     .attempt = 1,
                     .message = {},
                     .key = {},
                     .outputs = {}};
  try {
    Attempt attempt(handler, state_, folder_.facts().id, 1);
    AttemptFacts facts{.outputs = attempt.outputs(),
                       .run_id = folder_.facts().id,
                       .run_status = std::string(name_of(state)),
                       .program = options_.program};
    const Resolver resolver = make_resolver(workflow_, handler, find_, facts);
    const LogFiles::Log log = logs_.open(folder_.log(handler.name, 1));
    Process process({.command = command_of(handler, resolver, options_.program),
                     .environment = environment_with(
                         {{kMarkVariable, folder_.facts().mark}, {"LOCKRING_WORKFLOW_STATUS", facts.run_status}}),
                     .log = log.file});
    const Clock::time_point end =
        Clock::now() + (handler.timeout > 0 ? std::chrono::milliseconds(static_cast<long>(handler.timeout * 1000))
                                            : std::chrono::hours(1));
    std::optional<Ending> ending;
    while (!(ending = process.poll()) && Clock::now() < end) wait_for({process.descriptor()}, kTick);
    logs_.close(log);
    entry.state = ending && ending->good() ? StepState::succeeded : StepState::failed;
    entry.message = !ending ? "it took too long" : ending->good() ? "" : ending->text();
    if (ending) entry.code = ending->code;
    if (entry.state == StepState::succeeded) attempt.collect();
  } catch (const Error& error) {
    entry.state = StepState::errored;
    entry.message = error.what();
  }
  entry.time = options_.now();
  entry.seconds = entry.time - started;
  journal_.add(entry);
  if (entry.state != StepState::succeeded) observer_.warn(fmt::format("on_exit: {}", entry.message));
}

}  // namespace lockring::app::workflow
