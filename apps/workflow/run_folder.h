// A run of a workflow on disk, and all the runs there are.
#pragma once

#include "apps/run_lock.h"
#include "apps/workflow/journal.h"
#include "apps/workflow/spec.h"
#include "apps/workflow/state_folder.h"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockring::app::workflow {

// What run.json says.
struct RunFacts {
  std::string id;
  std::string workflow;  // its name
  std::string file;
  std::string digest;  // of the workflow's text and parameters
  std::string mark;    // in the environment of its processes
  Parameters parameters;
};

// Of the text and the values of all parameters.
std::string digest_of(const Workflow& workflow);

// A run that this process holds: no other goes on with it meanwhile.
class RunFolder {
 public:
  // A new one, NAME-1, NAME-2, ... Throws Error{data}.
  static std::unique_ptr<RunFolder> make(const StateFolder& state, const Workflow& workflow);
  // The one of this name. Throws Error{usage} if there is none, with the nearest, or if a process holds it.
  static std::unique_ptr<RunFolder> open(const StateFolder& state, const std::string& id);
  // The last run of the same workflow with the same parameters, if it was killed or stopped and nobody holds it.
  static std::unique_ptr<RunFolder> find_unfinished(const StateFolder& state, const Workflow& workflow);

  const RunFacts& facts() const { return facts_; }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path journal() const { return path_ / "journal.jsonl"; }
  std::filesystem::path log(const std::string& step, int attempt) const;

 private:
  RunFolder() = default;

  std::filesystem::path path_;
  RunFacts facts_;
  RunLock lock_;
};

// How a step of a run stands by its journal.
struct StepStory {
  StepState state = StepState::waiting;
  int attempts = 0;
  double started = 0;  // of the first attempt, seconds since 1970
  double ended = 0;
  double seconds = 0;
  int code = 0;
  std::string message;
  std::string key;
  std::vector<OutputRecord> outputs;
};

struct RunStory {
  RunFacts facts;
  std::string state;  // "running", "killed", or how it ended: "succeeded", "failed", "stopped"
  double began = 0;
  double ended = 0;                                      // 0: not yet
  std::vector<std::pair<std::string, StepStory>> steps;  // in the order in which they began

  const StepStory* find(const std::string& step) const;
};

// By journal alone, without the state.
RunStory tell(const std::vector<JournalEntry>& journal);
// Throws Error{usage} if there is no such run.
RunStory read_run(const StateFolder& state, const std::string& id);
// The names of all runs, in natural order. What is no run is left out.
std::vector<std::string> list_runs(const StateFolder& state);

}  // namespace lockring::app::workflow
