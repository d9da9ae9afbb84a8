// The measurements behind a calibration.
#pragma once

#include "apps/cluster/calibration.h"

#include <functional>
#include <string>

namespace lockring::app {

struct CalibrationOptions {
  std::string model = "cnn";
  std::string optimizer = "adam";
  int replicas = 1;  // of each rank
  std::int64_t most_bytes = 16 << 20;
  double seconds = 0.1;  // for each measurement
};

// By all ranks of the job at once; the same result on all. `say` is told what is measured next.
Calibration calibrate(dist::World& world, const CalibrationOptions& options,
                      const std::function<void(const std::string&)>& say);

}  // namespace lockring::app
