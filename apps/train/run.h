// One run of `lockring train`: epochs, validation, checkpoints, what is shown and what is written.
#pragma once

#include "apps/data_reports.h"
#include "apps/evaluation.h"
#include "apps/progress.h"
#include "apps/run_status.h"
#include "apps/train/epoch_report.h"
#include "apps/train/options.h"
#include "apps/train/run_directory.h"
#include "apps/train/setup.h"
#include "apps/train/state.h"
#include "apps/train/step_tracer.h"
#include "apps/train/tracker.h"
#include "apps/train/trainer.h"
#include "core/error.h"
#include "distributed/world.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockring::app {

// Under mpirun every rank makes one. They compute the same; the first shows and writes.
class TrainRun {
 public:
  // Checks the options, reads the data set, builds the model, restores a run to resume. Writes nothing. Throws Error.
  explicit TrainRun(TrainOptions options);

  // Trains to the end, or until a signal asks to stop. Returns the process's exit code.
  int run();

 private:
  bool leads() const { return directory_.own(); }
  void restore();
  void share_state();
  void start();
  int train();
  void prepare_directory();
  bool train_epoch();
  void settle();
  int stop_request() const;
  bool out_of_steps() const;
  std::int64_t total_steps() const;
  void take_step(std::span<const std::uint32_t> order);
  void finish_steps(std::size_t left);
  void finish_epoch();
  std::optional<Evaluation> validate(EpochReport& report, bool whole);
  std::map<std::string, double> metrics() const;
  bool stops_early() const;
  int finish();
  int finish_interrupted(int signal);
  const Trace* finish_trace();
  void finish_failed(const Error& error);
  void note_state(const RunStatus& status);
  void save_last();
  void save_best(const nn::Model& model, const std::map<std::string, double>& metrics);
  void save_or_say_what_is_kept(const std::function<void()>& save) const;
  void show_progress(double learning_rate);
  void show_notes();
  void say(const std::string& line);
  void warn(const std::string& message);

  dist::World& world_;
  std::chrono::steady_clock::time_point started_;
  TrainOptions options_;
  RunDirectory directory_;
  DataReports reports_;
  Setup setup_;
  Trainer trainer_;
  nn::Schedule schedule_;
  ProgressLine progress_;
  std::optional<Tracker> tracker_;    // once the directory is there
  std::optional<StepTracer> tracer_;  // if a trace is wanted
  TrainState state_;
  std::optional<std::int64_t> saved_step_;  // of last.safetensors
  StepResult last_step_;
  // Steps that were started and are not yet finished.
  struct UnderWay {
    std::int64_t step;
    double learning_rate;
  };
  std::vector<UnderWay> under_way_;  // few
  std::chrono::steady_clock::time_point last_finish_;
  Timing epoch_timing_;
  Timing run_timing_;
};

}  // namespace lockring::app
