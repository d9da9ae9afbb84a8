// What a finished run came to: summary.json, and the result on stdout.
#pragma once

#include "apps/evaluation.h"
#include "apps/train/epoch_report.h"
#include "apps/train/options.h"
#include "apps/train/setup.h"
#include "apps/train/state.h"
#include "apps/train/trace.h"

#include <filesystem>
#include <string>

namespace lockring::app {

struct Summary {
  std::int64_t parameters = 0;
  int replicas = 0;
  std::int64_t epochs = 0;  // done
  double wall_seconds = 0;  // of this process
  Timing timing;            // of its training steps
  Evaluation test;
  std::filesystem::path bundle;
  const Trace* trace = nullptr;  // of some steps, if there is one
};

// One JSON object; measures that were not taken are null.
std::string summary_json(const Summary& summary, const TrainOptions& options, const Setup& setup,
                         const TrainState& state);
// Accuracy, confusion matrix, where the bundle is.
std::string summary_text(const Summary& summary, const Setup& setup, const TrainState& state);

}  // namespace lockring::app
