#include "apps/workflow/run_folder.h"

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

#include <sys/random.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace lockring::app::workflow {
namespace fs = std::filesystem;
namespace {

std::string random_mark() {
  std::uint64_t words[2] = {};
  check(getrandom(words, sizeof(words), 0) == sizeof(words), ErrorCode::other, "there are no random numbers");
  return fmt::format("{:016x}{:016x}", words[0], words[1]);
}

std::string to_text(const RunFacts& facts) {
  nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
  for (const auto& [name, value] : facts.parameters) parameters[name] = value;
  const nlohmann::ordered_json json = {{"id", facts.id},     {"workflow", facts.workflow},
                                       {"file", facts.file}, {"digest", facts.digest},
                                       {"mark", facts.mark}, {"parameters", parameters}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

RunFacts read_facts(const fs::path& folder) {
  const fs::path file = folder / "run.json";
  try {
    const nlohmann::ordered_json json = nlohmann::ordered_json::parse(read_file(file));
    RunFacts facts;
    facts.id = folder.filename().string();
    facts.workflow = json.at("workflow").get<std::string>();
    facts.file = json.at("file").get<std::string>();
    facts.digest = json.at("digest").get<std::string>();
    facts.mark = json.at("mark").get<std::string>();
    for (const auto& [name, value] : json.at("parameters").items())
      facts.parameters.emplace_back(name, value.get<std::string>());
    return facts;
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorCode::data, "{} is damaged: {}", file.string(), error.what());
  }
}

// "NAME-12": the name and the number; 0 if there is none.
std::pair<std::string, int> split_id(const std::string& id) {
  const std::size_t dash = id.rfind('-');
  if (dash == std::string::npos) return {id, 0};
  int number = 0;
  std::from_chars(id.data() + dash + 1, id.data() + id.size(), number);
  return {id.substr(0, dash), number};
}

// An empty run.json is of a run that began just before the machine died.
bool is_run(const fs::path& folder) {
  std::error_code error;
  return fs::file_size(folder / "run.json", error) > 0 && !error;
}

void tell_end(StepStory& story, const JournalEntry& entry) {
  story.state = entry.again ? StepState::waiting : entry.state;
  story.ended = entry.time;
  story.seconds += entry.seconds;
  story.code = entry.code;
  story.message = entry.message;
  if (is_good(entry.state)) {
    story.key = entry.key;
    story.outputs = entry.outputs;
  }
}

}  // namespace

std::string digest_of(const Workflow& workflow) {
  std::string text = workflow.text + '\0';
  for (const auto& [name, value] : workflow.parameters) text += name + '\0' + value + '\0';
  return sha256(text);
}

// The folder gets its name with run.json already in it: a run is there or not.
std::unique_ptr<RunFolder> RunFolder::make(const StateFolder& state, const Workflow& workflow) {
  state.make();
  std::unique_ptr<RunFolder> run(new RunFolder);
  run->facts_ = {.id = {},
                 .workflow = workflow.name,
                 .file = workflow.file,
                 .digest = digest_of(workflow),
                 .mark = random_mark(),
                 .parameters = workflow.parameters};
  int number = 1;
  for (const std::string& id : list_runs(state))
    if (const auto [name, last] = split_id(id); name == workflow.name) number = std::max(number, last + 1);
  for (;; ++number) {
    run->facts_.id = fmt::format("{}-{}", workflow.name, number);
    run->path_ = state.runs() / run->facts_.id;
    std::error_code error;
    if (fs::create_directory(run->path_, error)) break;
    check(!error, ErrorCode::data, "cannot make the folder {}: {}", run->path_.string(), error.message());
  }
  check(run->lock_.take(run->path_), ErrorCode::data, "another process has taken {}", run->path_.string());
  fs::create_directory(run->path_ / "logs");
  // The journal syncs them, while the first steps already run.
  write_file(run->path_ / "workflow.yaml", workflow.text, Sync::later);
  write_file(run->path_ / "run.json", to_text(run->facts_), Sync::later);
  return run;
}

std::unique_ptr<RunFolder> RunFolder::open(const StateFolder& state, const std::string& id) {
  std::unique_ptr<RunFolder> run(new RunFolder);
  run->path_ = state.runs() / id;
  if (id.find('/') != std::string::npos || !is_run(run->path_))
    fail(ErrorCode::usage, "there is no run '{}' in {}{}", printable(id), state.path.string(),
         did_you_mean(id, list_runs(state)));
  check(run->lock_.take(run->path_), ErrorCode::usage, "another process is running {}", id);
  run->facts_ = read_facts(run->path_);
  return run;
}

std::unique_ptr<RunFolder> RunFolder::find_unfinished(const StateFolder& state, const Workflow& workflow) {
  const std::string digest = digest_of(workflow);
  std::vector<std::string> ids = list_runs(state);
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    if (split_id(*id).first != workflow.name) continue;
    std::unique_ptr<RunFolder> run(new RunFolder);
    run->path_ = state.runs() / *id;
    run->facts_ = read_facts(run->path_);
    if (run->facts_.digest != digest || !run->lock_.take(run->path_)) continue;
    std::error_code ignored;
    if (!fs::exists(run->journal(), ignored)) return run;
    const RunStory story = tell(read_journal(run->journal()));
    return story.ended == 0 || story.state == "stopped" ? std::move(run) : nullptr;
  }
  return nullptr;
}

fs::path RunFolder::log(const std::string& step, int attempt) const {
  return path_ / "logs" / fmt::format("{}.{}.log", step, attempt);
}

const StepStory* RunStory::find(const std::string& step) const {
  const auto found = std::ranges::find(steps, step, &std::pair<std::string, StepStory>::first);
  return found == steps.end() ? nullptr : &found->second;
}

RunStory tell(const std::vector<JournalEntry>& journal) {
  RunStory story;
  std::map<std::string, std::size_t> index;
  for (const JournalEntry& entry : journal) {
    if (entry.kind == JournalEntry::Kind::begin) {
      if (story.began == 0) story.began = entry.time;
      story.ended = 0;
      story.state.clear();
      continue;
    }
    if (entry.kind == JournalEntry::Kind::finish) {
      story.ended = entry.time;
      story.state = name_of(entry.state);
      continue;
    }
    const auto [at, is_new] = index.emplace(entry.step, story.steps.size());
    if (is_new) story.steps.emplace_back(entry.step, StepStory{});
    StepStory& step = story.steps[at->second].second;
    step.attempts = std::max(step.attempts, entry.attempt);
    if (entry.kind == JournalEntry::Kind::end) {
      tell_end(step, entry);
    } else {
      step.state = StepState::running;
      if (step.started == 0) step.started = entry.time;
    }
  }
  return story;
}

RunStory read_run(const StateFolder& state, const std::string& id) {
  const fs::path folder = state.runs() / id;
  if (id.empty() || id.find('/') != std::string::npos || !is_run(folder))
    fail(ErrorCode::usage, "there is no run '{}' in {}{}", printable(id), state.path.string(),
         did_you_mean(id, list_runs(state)));
  std::error_code ignored;
  RunStory story;
  if (fs::exists(folder / "journal.jsonl", ignored)) story = tell(read_journal(folder / "journal.jsonl"));
  story.facts = read_facts(folder);
  if (story.state.empty()) story.state = RunLock().take(folder) ? "killed" : "running";
  return story;
}

std::vector<std::string> list_runs(const StateFolder& state) {
  std::vector<std::string> ids;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(state.runs(), ignored))
    if (is_run(entry.path())) ids.push_back(entry.path().filename().string());
  std::ranges::sort(ids, {}, split_id);
  return ids;
}

}  // namespace lockring::app::workflow
