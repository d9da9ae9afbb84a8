// Whether a run's model still does what the run says of it.
#pragma once

#include "apps/data_options.h"
#include "apps/loaded_model.h"
#include "apps/runs/run_record.h"

#include <cstdint>
#include <string>

namespace lockring::app {

struct Reproduction {
  std::string metric;  // the accuracy that was computed again: val_accuracy where there is one, else test_accuracy
  std::int64_t images = 0;
  std::int64_t recorded = 0;  // images recognised, as recorded
  std::int64_t found = 0;
  std::int64_t allowed = 0;  // difference: 0 on the kernels that the bundle was made with, a few elsewhere
};

// Evaluates the model on the images that the run validated with, which follow from its configuration, or, if the metric
// it was chosen by is of the test images, on those. `data` names the data set for a run that does not say. Throws
// Error{data} if the figure is not reproduced, or the data set is not there or not the one of the training.
Reproduction reproduce(const RunRecord& run, const LoadedModel& loaded, const std::string& metric,
                       const DataOptions& data, const CacheOptions& cache);

}  // namespace lockring::app
