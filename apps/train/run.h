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
#include <span>
#include <string>

namespace lockring::app {

class TrainRun {
 public:
  // Reads the data set, builds the model, makes or re-opens the run directory. Throws Error.
  explicit TrainRun(TrainOptions options);

  // Trains to the end, or until a signal asks to stop. Returns the process's exit code.
  int run();

 private:
  void start();
  void restore();
  bool train_epoch();
  bool out_of_steps() const;
  void take_step(std::span<const std::uint32_t> order);
  void finish_epoch();
  void validate(EpochReport& report);
  void write_events(const EpochReport& report);
  std::map<std::string, double> metrics() const;
  bool stops_early() const;
  int finish();
  int finish_interrupted(int signal);
  void save_last();
  void show_progress(double learning_rate);
  void say(const std::string& line);

  std::chrono::steady_clock::time_point started_;
  TrainOptions options_;
  Setup setup_;
  Trainer trainer_;
  nn::Schedule schedule_;
  RunDirectory directory_;
  EventFile events_;
  ProgressLine progress_;
  TrainState state_;
  Timing epoch_timing_;
  Timing run_timing_;
};

}  // namespace lockring::app
