// `lockring train --trace FILE`: traces a few steps once training has warmed up.
#pragma once

#include "apps/train/run_directory.h"
#include "apps/train/trace.h"
#include "apps/train/trainer.h"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace lockring::app {

// One thread at a time; the trainer must outlive it.
class StepTracer {
 public:
  // `steps` of them to `file`, after `left` steps or less of the run are to come. A file that cannot be written is told
  // to `warn`.
  StepTracer(std::filesystem::path file, std::int64_t steps, Trainer& trainer, RunDirectory::Warn warn);

  // Before each step, of which `left` are still to be done.
  void before_step(std::int64_t left);
  // After each step, and when no more will come: writes the trace once it is complete.
  void after_step();
  void finish();

  // Once it is complete.
  const Trace* trace() const { return written_ ? &*trace_ : nullptr; }
  const std::filesystem::path& file() const { return file_; }

 private:
  void write();

  std::filesystem::path file_;
  std::int64_t steps_;
  Trainer& trainer_;
  RunDirectory::Warn warn_;
  std::int64_t warm_up_left_;
  std::optional<Trace> trace_;
  bool written_ = false;
};

}  // namespace lockring::app
