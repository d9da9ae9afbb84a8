// What a run tells those who watch it: a line of metrics.jsonl for each epoch, and the events that TensorBoard shows.
//
// Events lie at the number of steps done, so that those of a run that was stopped and resumed go on where its
// parameters do. What cannot be written costs a warning.
#pragma once

#include "apps/evaluation.h"
#include "apps/event_file.h"
#include "apps/train/checkpoint.h"
#include "apps/train/epoch_report.h"
#include "apps/train/options.h"
#include "apps/train/run_directory.h"
#include "apps/train/setup.h"
#include "apps/train/trainer.h"

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockring::app {

// One thread at a time.
class Tracker {
 public:
  // In a directory that is open; all must outlive the tracker.
  Tracker(RunDirectory& directory, const TrainOptions& options, const Setup& setup, EventFile::Warn warn);

  // Settings and configuration. `first_step` is the next to be done, counted from 1; above 1 the run is resumed, and
  // what an earlier process recorded from there on is void.
  void start(const Recipe& recipe, std::int64_t first_step);
  // After each step, of which it records the first and then at most one a second, as means since the last.
  void step(std::int64_t step, const StepResult& result, double learning_rate, double seconds);
  // After an epoch; `validation` is of the held-out samples, if there are any. `step` is the last step's result.
  void epoch(const EpochReport& report, Trainer& trainer, const StepResult& step,
             const std::optional<Evaluation>& validation);
  // At the end: the test set's verdict, or that there will be none.
  void finish(std::int64_t step, const Evaluation& test);
  void fail(std::int64_t step);

 private:
  using Clock = std::chrono::steady_clock;

  void scalar(std::string_view tag, std::int64_t step, double value);
  void record_distributions(std::int64_t step, Trainer& trainer, std::int64_t batch);

  RunDirectory& directory_;
  const TrainOptions& options_;
  const Setup& setup_;
  EventFile events_;

  // Of the steps since the last that was recorded.
  StepResult sum_;
  double seconds_ = 0;
  Clock::time_point recorded_at_{};
};

}  // namespace lockring::app
