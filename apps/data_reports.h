// What is said while a data set loads, and later by the threads that read its images.
#pragma once

#include "apps/data_options.h"
#include "data/dataset.h"

#include <memory>
#include <string>
#include <vector>

namespace lockring::app {

struct DataNote {
  std::string text;
  bool shown = false;
};

// A bar while images are prepared, and notes, on stderr: at once, or, where others print as well, when asked for.
class DataReports {
 public:
  explicit DataReports(bool quiet);

  // How a data set is to be loaded: with these reports, which the data set keeps alive.
  data::LoadOptions load_options(const CacheOptions& cache, const data::Front& front) const;
  // A note of the caller's own.
  void note(const std::string& text) const;
  // Loading is over: from now on, notes wait for take().
  void hold();
  // The notes since the last time. Any thread, and costs next to nothing when there are none.
  std::vector<DataNote> take();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace lockring::app
