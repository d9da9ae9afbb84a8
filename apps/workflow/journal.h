// What happened in a run, a JSON object a line, appended as it happens. A run that is killed at any moment goes on from
// it.
#pragma once

#include "apps/workflow/record.h"

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
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

// One thread writes; a thread of the journal's own syncs, so that no step waits for a disk.
class Journal {
 public:
  // Opens for appending; what was torn off at the end of the file is taken away first. `beside` are files that the run
  // needs as well, and that are synced with the journal's beginning. Throws Error{data}.
  explicit Journal(const std::filesystem::path& file, const std::vector<std::filesystem::path>& beside = {});
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Written at once, so that it survives this process's death; within about a second it survives the machine's as
  // well.
  void add(const JournalEntry& entry);
  // That, too, at once.
  void sync();

 private:
  void keep_synced();

  std::filesystem::path path_;
  std::vector<std::filesystem::path> beside_;
  int file_ = -1;
  std::atomic<bool> dirty_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ending_ = false;
  std::thread syncer_;
};

}  // namespace lockring::app::workflow
