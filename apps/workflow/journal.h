// What happened in a run, a JSON object a line, appended as it happens. A run that is killed at any moment goes on from
// it.
#pragma once

#include "apps/workflow/record.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::app::workflow {

// In the order of a step's life. `ready` is a server that answers.
enum class StepState { waiting, running, ready, succeeded, cached, skipped, omitted, failed, errored, stopped };

std::string_view name_of(StepState state);
// Whether the step has come to its end, and whether it has what others may need of it.
bool is_final(StepState state);
bool is_good(StepState state);

struct JournalEntry {
  enum class Kind { begin, start, end, finish };  // of the run, of an attempt, of a step or an attempt, of the run
  Kind kind = Kind::begin;
  double time = 0;  // seconds since 1970, UTC
  std::string step;
  int attempt = 0;
  StepState state = StepState::waiting;  // of a step's end; of the run's, succeeded, failed or stopped
  bool again = false;                    // the end of an attempt or of a round after which the step runs again
  std::string message;
  int code = 0;        // exit code
  double seconds = 0;  // that it took
  std::string key;
  std::vector<OutputRecord> outputs;
};

// Lines that are damaged, such as the last one of a process that was killed, are left out.
std::vector<JournalEntry> read_journal(const std::filesystem::path& file);

class Journal {
 public:
  // Opens for appending; what was torn off at the end of the file is taken away first. Throws Error{data}.
  explicit Journal(const std::filesystem::path& file);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Written at once; to survive the machine's death as well, not only this process's, it is synced within about a
  // second.
  void add(const JournalEntry& entry);
  // Syncs what was added, if the last time is long enough ago.
  void sync_if_due();
  void sync();

 private:
  std::filesystem::path path_;
  int file_ = -1;
  bool dirty_ = false;
  std::chrono::steady_clock::time_point synced_{};
};

}  // namespace lockring::app::workflow
