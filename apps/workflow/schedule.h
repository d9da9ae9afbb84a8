// A workflow that runs again by itself: at times, or when its data changes.
#pragma once

#include "apps/workflow/cron.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace lockring::app::workflow {

struct ScheduleOptions {
  std::optional<Cron> cron;                    // or
  std::vector<std::filesystem::path> watched;  // files and folders
  double look_every = 10;                      // seconds between looks at them
  int limit = 0;                               // ends after so many runs; 0: never
  std::function<std::time_t()> now;
  // Waits; false if it is to end.
  std::function<bool(double seconds)> sleep;
  std::function<void(const std::string&)> say;
};

// Runs at each time of the cron expression, one run at a time: times that pass during a run are left out. Or runs at
// once, and again whenever what is watched has another content and has been still for one look: what is just being
// copied is not half taken. `run` returns false if the schedule is to end.
void keep_schedule(const ScheduleOptions& options, const std::function<bool()>& run);

}  // namespace lockring::app::workflow
