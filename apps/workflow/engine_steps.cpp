// What the engine does with one step: from having all that it needs to its end.
#include "apps/workflow/engine.h"

#include "apps/terminal.h"
#include "apps/workflow/probe.h"
#include "core/error.h"
#include "data/file_lock.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <utility>

namespace lockring::app::workflow {
namespace {

std::chrono::steady_clock::duration ticks(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

// Before an attempt that follows so many failures.
double pause_after(const Retries& retries, int failures) {
  return std::min(retries.backoff * std::pow(retries.factor, failures - 1), retries.most);
}

}  // namespace

void Engine::consider(int step) {
  if (stopped_by_ != 0 || (failed_ && !options_.keep_going) || task(step).busy) return;
  switch (board_.next(step)) {
    case Board::Next::wait:
      return;
    case Board::Next::run:
      return prepare(step);
    case Board::Next::update:
      return start_update(step);
    case Board::Next::end:
      return settle(step, StepState::succeeded);
    case Board::Next::omit:
      return settle(step, StepState::omitted, board_.obstacle(step));
  }
}

void Engine::prepare(int step) {
  Task& one = task(step);
  one.busy = true;
  one.facts = {.outputs = {},
               .run_id = folder_.facts().id,
               .run_status = std::string(name_of(failed_ ? StepState::failed : StepState::running)),
               .program = options_.program};
  try {
    const Resolver resolver = make_resolver(workflow_, spec(step), find_, one.facts);
    if (spec(step).when && !spec(step).when->holds(resolver))
      return settle(step, StepState::skipped, spec(step).when->text());
    one.key = key_of(workflow_, spec(step), find_);
    board_.start(step);
    if (take_from_journal(step) || take_from_cache(step)) return;
    enqueue(step);
  } catch (const Error& error) {
    settle(step, StepState::errored, error.what());
  }
}

// What the run had done before it was killed.
bool Engine::take_from_journal(int step) {
  const StepSpec& wanted = spec(step);
  const StepStory* before = story_.find(wanted.name);
  if (before == nullptr || wanted.server || options_.again.contains(wanted.name)) return false;
  if (before->state != StepState::succeeded && before->state != StepState::cached) return false;
  if (before->key != task(step).key.digest || !find_change(wanted, before->outputs).empty()) return false;
  task(step).busy = false;
  board_.add_outputs(step, before->outputs);
  board_.set_state(step, before->state, "before this run was resumed");
  observer_.changed(step, board_.status(step), task(step).attempts);
  wake_after(step);
  return true;
}

// True if there is nothing to start: it is in the cache, or somebody else is making it.
bool Engine::take_from_cache(int step) {
  const StepSpec& wanted = spec(step);
  Task& one = task(step);
  if (!wanted.memoize.on) return false;
  const bool looks = !options_.no_cache && !options_.refresh.contains(wanted.name);
  const auto hits = [&] {
    if (!looks) return false;
    Cache::Answer answer = cache_.find(workflow_.name, wanted, one.key, static_cast<std::int64_t>(options_.now()));
    one.reason = answer.reason;
    if (!answer.hit) return false;
    end_round(step, StepState::cached, std::move(answer.hit->outputs), "");
    return true;
  };
  if (!looks) one.reason = "asked to";
  if (hits()) return true;
  one.right = cache_.take(one.key);
  if (!one.right) {
    contended_.insert(step);
    return true;
  }
  return hits();  // made between the two looks
}

void Engine::start(int step) {
  Task& one = task(step);
  try {
    // While an async step waited for cores, more may have come.
    if (spec(step).async && one.failures == 0 && key_of(workflow_, spec(step), find_).digest != one.key.digest) {
      release(step);
      woken_.insert(step);
      return;
    }
    launch(step);
  } catch (const Error& error) {
    logs_.close(std::exchange(one.log, {}));
    fail_attempt(step, StepState::errored, error.what(), 0);
  }
}

void Engine::launch(int step) {
  const StepSpec& wanted = spec(step);
  Task& one = task(step);
  ++one.attempts;
  one.verdict.clear();
  one.kill_at.reset();
  one.started = options_.now();
  journal_.add({.kind = JournalEntry::Kind::start,
                .time = one.started,
                .step = wanted.name,
                .attempt = one.attempts,
                .message = one.reason,
                .key = one.key.digest,
                .outputs = {}});
  one.attempt = std::make_unique<Attempt>(wanted, state_, folder_.facts().id, one.attempts, one.key.digest);
  const bool resumes = one.attempt->has_checkpoint();
  one.facts.outputs = one.attempt->outputs();
  one.facts.attempt = one.attempts;
  if (wanted.server) one.facts.port = free_port();
  const Resolver resolver = make_resolver(workflow_, wanted, find_, one.facts);
  std::vector<std::pair<std::string, std::string>> variables = {{kMarkVariable, folder_.facts().mark}};
  // A server of this program shows the run.
  if (wanted.server) variables.emplace_back("LOCKRING_RUN_PAGE", std::filesystem::absolute(folder_.path()).string());
  for (const auto& [name, value] : wanted.env) variables.emplace_back(name, value.fill(resolver));
  // What a command of this program does is in its options, not in what else is set where the workflow runs.
  one.log = logs_.open(folder_.log(wanted.name, one.attempts));
  std::vector<std::string> command = command_of(wanted, resolver, options_.program);
  if (resumes) command.emplace_back("--resume");
  one.process = std::make_unique<Process>(
      Launch{.command = std::move(command),
             .environment = environment_with(variables, wanted.uses.empty() ? "" : "LOCKRING_"),
             .log = one.log.file});
  one.slots = std::min(wanted.resources.slots, options_.slots);
  free_slots_ -= one.slots;
  working_.insert(step);
  const double limit = wanted.server ? wanted.server->ready_timeout : wanted.timeout;
  one.deadline = limit > 0 ? std::optional(Clock::now() + ticks(limit)) : std::nullopt;
  board_.set_state(step, StepState::running, resumes ? "goes on from its checkpoint" : one.reason);
  observer_.changed(step, board_.status(step), one.attempts);
}

void Engine::reap(int step) {
  Task& one = task(step);
  if (one.update) reap_update(step);
  if (!one.process) return;
  if (const std::optional<Ending> ending = one.process->poll()) {
    one.process.reset();
    one.update.reset();
    logs_.close(std::exchange(one.log, {}));
    working_.erase(step);
    free_slots_ += std::exchange(one.slots, 0);
    finish_attempt(step, *ending);
  } else if (spec(step).server && !one.update && board_.status(step).state == StepState::running) {
    look_at_server(step);
  }
}

void Engine::finish_attempt(int step, const Ending& ending) {
  Task& one = task(step);
  const bool answered = board_.status(step).state == StepState::ready;
  if (stopped_by_ != 0 || one.verdict == kStopped) {
    if (one.attempt) one.attempt->leave_checkpoint();
    settle(step, answered ? StepState::succeeded : StepState::stopped);
  } else if (!one.verdict.empty()) {
    fail_attempt(step, StepState::failed, one.verdict, ending.code);
  } else if (spec(step).server) {
    fail_attempt(step, StepState::failed, "the server ended: " + ending.text(), ending.code);
  } else if (!ending.good()) {
    fail_attempt(step, StepState::failed, ending.text(), ending.code);
  } else {
    succeed(step);
  }
}

void Engine::succeed(int step) {
  Task& one = task(step);
  try {
    std::vector<OutputRecord> outputs = one.attempt->collect();
    one.attempt.reset();
    if (spec(step).memoize.on) {
      try {
        cache_.store({.key = one.key,
                      .workflow = workflow_.name,
                      .step = spec(step).name,
                      .updated = static_cast<std::int64_t>(options_.now()),
                      .outputs = outputs});
      } catch (const Error& error) {
        observer_.warn(fmt::format("{} is not remembered: {}", spec(step).name, error.what()));
      }
    }
    end_round(step, StepState::succeeded, std::move(outputs), "");
  } catch (const Error& error) {
    fail_attempt(step, StepState::errored, error.what(), 0);
  }
}

// A good end; of an async step perhaps only of a round.
void Engine::end_round(int step, StepState state, std::vector<OutputRecord> outputs, const std::string& message) {
  Task& one = task(step);
  one.failures = 0;
  board_.add_outputs(step, std::move(outputs));
  if (!board_.goes_on(step)) return settle(step, state, message);
  note_end(step, state, true, message, 0);
  board_.set_state(step, StepState::waiting, "for more of its inputs");
  observer_.changed(step, board_.status(step), one.attempts);
  release(step);
  wake_after(step);
  woken_.insert(step);
}

void Engine::fail_attempt(int step, StepState state, const std::string& message, int code) {
  Task& one = task(step);
  const Retries& retries = spec(step).retries;
  one.attempt.reset();
  ++one.failures;
  const bool may_start = stopped_by_ == 0 && (!failed_ || options_.keep_going);
  if (one.failures > retries.limit || !may_start) {
    return settle(step, state, message, code);
  }
  const double pause = pause_after(retries, one.failures);
  note_end(step, state, true, message, code);
  one.not_before = Clock::now() + ticks(pause);
  delayed_.insert(step);
  board_.set_state(step, StepState::waiting,
                   fmt::format("{}; attempt {} in {}", message, one.attempts + 1, duration_text(pause)));
  observer_.changed(step, board_.status(step), one.attempts);
}

// The step's end.
void Engine::settle(int step, StepState state, const std::string& message, int code) {
  failed_ |= state == StepState::failed || state == StepState::errored;
  board_.set_state(step, state, message);
  note_end(step, state, false, message, code);
  task(step).attempt.reset();
  release(step);
  observer_.changed(step, board_.status(step), task(step).attempts);
  wake_after(step);
}

void Engine::note_end(int step, StepState state, bool again, const std::string& message, int code) {
  const Task& one = task(step);
  const double now = options_.now();
  JournalEntry entry{.kind = JournalEntry::Kind::end,
                     .time = now,
                     .step = spec(step).name,
                     .attempt = one.attempts,
                     .state = state,
                     .again = again,
                     .message = message,
                     .code = code,
                     .key = {},
                     .outputs = {}};
  const bool ran =
      is_final(state) && state != StepState::cached && state != StepState::skipped && state != StepState::omitted;
  if (ran && one.started > 0) entry.seconds = now - one.started;
  if (is_good(state)) {
    entry.key = one.key.digest;
    entry.outputs = board_.status(step).outputs;
  }
  journal_.add(entry);
}

void Engine::release(int step) {
  Task& one = task(step);
  if (one.right) cache_.release(one.key, std::move(one.right));
  one.busy = false;
}

void Engine::wake_after(int step) {
  const std::vector<int>& after = board_.graph().after[static_cast<std::size_t>(step)];
  woken_.insert(after.begin(), after.end());
}

// A server is there once it answers or, where nothing is said of that, once it has made its outputs.
void Engine::look_at_server(int step) {
  Task& one = task(step);
  try {
    const std::string ready = spec(step).server->ready.fill(make_resolver(workflow_, spec(step), find_, one.facts));
    if (!one.attempt->has_outputs() || !answers(ready)) return;
    std::vector<OutputRecord> outputs = one.attempt->collect_in_place();
    std::string message = ready;
    for (const OutputRecord& output : outputs)
      if (output.kind == OutputKind::value && output.name != kServerHost)
        message += fmt::format("{}{} {}", message.empty() ? "" : ", ", output.name, output.value);
    if (const std::string said = said_since(one.log.path, 0); !said.empty())
      message += (message.empty() ? "" : "; ") + said;
    board_.add_outputs(step, std::move(outputs));
    one.deadline.reset();
    board_.set_state(step, StepState::ready, message);
    note_end(step, StepState::ready, false, message, 0);
    observer_.changed(step, board_.status(step), one.attempts);
    release(step);
    wake_after(step);
    woken_.insert(step);
  } catch (const Error& error) {
    end_server(step, error.what());
  }
}

void Engine::end_server(int step, const std::string& verdict) {
  Task& one = task(step);
  one.verdict = verdict;
  one.process->signal(SIGTERM);
  one.kill_at = Clock::now() + options_.grace;
}

void Engine::start_update(int step) {
  Task& one = task(step);
  try {
    board_.start(step);
    const Resolver resolver = make_resolver(workflow_, spec(step), find_, one.facts);
    one.log_bytes = static_cast<std::int64_t>(std::filesystem::file_size(one.log.path));
    one.update =
        std::make_unique<Process>(Launch{.command = fill_words(spec(step).server->update, resolver),
                                         .environment = environment_with({{kMarkVariable, folder_.facts().mark}}),
                                         .log = one.log.file});
    one.busy = true;
    board_.set_state(step, StepState::running, "takes in what has come");
    observer_.changed(step, board_.status(step), one.attempts);
  } catch (const Error& error) {
    observer_.warn(fmt::format("{}: {}", spec(step).name, error.what()));
  }
}

void Engine::reap_update(int step) {
  Task& one = task(step);
  const std::optional<Ending> ending = one.update->poll();
  if (!ending) return;
  one.update.reset();
  try {
    check(ending->good(), ErrorCode::data, "its update ended with {}", ending->text());
    board_.add_outputs(step, one.attempt->collect_in_place());
  } catch (const Error& error) {
    if (one.verdict.empty()) end_server(step, error.what());
    return;
  }
  const std::string said = said_since(one.log.path, one.log_bytes);
  board_.set_state(step, StepState::ready, said.empty() ? "has taken in what has come" : said);
  note_end(step, StepState::ready, false, board_.status(step).message, 0);
  observer_.changed(step, board_.status(step), one.attempts);
  one.busy = false;
  wake_after(step);
  woken_.insert(step);
}

}  // namespace lockring::app::workflow
