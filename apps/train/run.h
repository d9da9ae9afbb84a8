// One run of `lockring train`: epochs, validation, checkpoints, what is shown and what is written.
#pragma once

#include "apps/event_file.h"
#include "apps/progress.h"
#include "apps/train/epoch_report.h"
#include "apps/train/options.h"
#include "apps/train/run_directory.h"
#include "apps/train/setup.h"
#include "apps/train/state.h"
#include "apps/train/trainer.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace lockring::app {

class TrainRun {
 public:
  // Checks the options, reads the data set, builds the model, restores a run to resume. Writes nothing. Throws Error.
  explicit TrainRun(TrainOptions options);

  // Trains to the end, or until a signal asks to stop. Returns the process's exit code.
  int run();

 private:
  void start();
  void open_directory();
  bool train_epoch();
  bool out_of_steps() const;
  void take_step(std::span<const std::uint32_t> order);
  void finish_epoch();
  void validate(EpochReport& report, bool whole);
  void record(const EpochReport& report);
  std::map<std::string, double> metrics() const;
  bool stops_early() const;
  int finish();
  int finish_interrupted(int signal);
  void save_last();
  void show_progress(double learning_rate);
  void say(const std::string& line);

  std::chrono::steady_clock::time_point started_;
  TrainOptions options_;
  RunDirectory directory_;
  Setup setup_;
  Trainer trainer_;
  nn::Schedule schedule_;
  ProgressLine progress_;
  std::optional<EventFile> events_;  // once the directory is there
  TrainState state_;
  Timing epoch_timing_;
  Timing run_timing_;
};

}  // namespace lockring::app
