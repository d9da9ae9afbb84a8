// Runs a workflow: starts steps as soon as what they need is there and cores are free, and goes on with a run that was
// killed from its journal.
#pragma once

#include "apps/workflow/attempt.h"
#include "apps/workflow/board.h"
#include "apps/workflow/cache.h"
#include "apps/workflow/log_files.h"
#include "apps/workflow/process.h"
#include "apps/workflow/run_folder.h"
#include "apps/workflow/scope.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lockring::data {
class FileLock;
}

namespace lockring::app::workflow {

// In the environment of every process of a run, with the run's mark as its value.
inline constexpr char kMarkVariable[] = "LOCKRING_WORKFLOW_RUN";
// Why a process was told to end, where it is not the step's own fault.
inline constexpr char kStopped[] = "stopped";

struct EngineOptions {
  int slots = 1;  // cores to fill
  bool keep_going = false;
  bool no_cache = false;                   // nothing is taken from the cache
  std::set<std::string> refresh;           // nor for these steps
  std::set<std::string> again;             // not taken as done, although the run's journal says so
  bool keep_serving = false;               // servers stay until a signal
  std::string program;                     // this one, for steps that use its commands
  std::chrono::milliseconds grace{10000};  // between SIGTERM and SIGKILL
  std::function<double()> now;             // seconds since 1970, UTC
  std::function<int()> stop_signal;        // that asks the run to stop; 0: none
};

// Is told what happens; one thread.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void changed(int step, const StepStatus& status, int attempt) = 0;
  virtual void warn(const std::string& message) = 0;
  virtual void tick() {}
  // All has ended but servers, which stay.
  virtual void serving() {}
};

// Keeps references to its arguments. One run, in one thread; child processes belong to that thread.
class Engine {
 public:
  Engine(const Workflow& workflow, const RunFolder& folder, const StateFolder& state, EngineOptions options,
         Observer& observer);
  ~Engine();

  // Returns succeeded, failed or stopped.
  StepState run();
  const Board& board() const { return board_; }

 private:
  using Clock = std::chrono::steady_clock;

  // What the engine has under way for a step.
  struct Task {
    int attempts = 0;   // of the whole run
    int failures = 0;   // since the last good end
    bool busy = false;  // from when it has all that it needs to its end
    StepKey key;
    std::unique_ptr<data::FileLock> right;  // to make what the key is of
    std::unique_ptr<Attempt> attempt;
    std::unique_ptr<Process> process;
    std::unique_ptr<Process> update;  // of a server
    LogFiles::Log log;
    std::int64_t log_bytes = 0;  // when the update began
    AttemptFacts facts;
    double started = 0;
    int slots = 0;
    std::optional<Clock::time_point> not_before;  // after a failure
    std::optional<Clock::time_point> deadline;    // SIGTERM, or for a server that is not ready
    std::optional<Clock::time_point> kill_at;
    std::string verdict;  // why it was told to end
    std::string reason;   // why it was not taken from the cache
  };

  const StepSpec& spec(int step) const { return workflow_.steps[static_cast<std::size_t>(step)]; }
  Task& task(int step) { return tasks_[static_cast<std::size_t>(step)]; }

  // engine.cpp: the run as a whole.
  void begin();
  bool is_done() const;
  void turn();
  void consider_woken();
  void enqueue(int step);
  void start_queued();
  void start_from(std::set<int>& queue, int least_slots);
  void wait();
  void look_at_clock();
  void stop_all();
  void finish(StepState state);
  void run_exit_handler(StepState state);

  // engine_steps.cpp: one step.
  void consider(int step);
  void prepare(int step);
  bool take_from_journal(int step);
  bool take_from_cache(int step);
  void start(int step);
  void launch(int step);
  void start_update(int step);
  void reap(int step);
  void reap_update(int step);
  void look_at_server(int step);
  void end_server(int step, const std::string& verdict);
  void finish_attempt(int step, const Ending& ending);
  void succeed(int step);
  void end_round(int step, StepState state, std::vector<OutputRecord> outputs, const std::string& message);
  void fail_attempt(int step, StepState state, const std::string& message, int code);
  void settle(int step, StepState state, const std::string& message = "", int code = 0);
  void note_end(int step, StepState state, bool again, const std::string& message, int code);
  void release(int step);
  void wake_after(int step);

  const Workflow& workflow_;
  const RunFolder& folder_;
  StateFolder state_;
  EngineOptions options_;
  Observer& observer_;
  Board board_;
  Cache cache_;
  FindOutput find_;
  RunStory story_;  // of the run until it was killed
  Journal journal_;
  LogFiles logs_;
  std::vector<Task> tasks_;
  std::set<int> woken_;      // something that they wait for has changed
  std::set<int> urgent_;     // they hand on the work of others, or take no cores
  std::set<int> queue_;      // the others that wait for cores
  std::set<int> contended_;  // others make what they would
  std::set<int> delayed_;    // they failed and try again later
  std::set<int> working_;    // have a process
  int free_slots_;
  bool failed_ = false;
  int stopped_by_ = 0;
  double began_ = 0;
};

}  // namespace lockring::app::workflow
