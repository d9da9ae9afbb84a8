// What a run would do, without doing it.
#pragma once

#include "apps/workflow/cache.h"
#include "apps/workflow/engine.h"
#include "apps/workflow/run_folder.h"
#include "apps/workflow/spec.h"

#include <string>
#include <vector>

namespace lockring::app::workflow {

struct PlannedStep {
  std::string step;
  std::string verdict;  // "HIT" in the cache, "DONE" in the run that would go on, "MISS", "RUN" without memoization, or
                        // "SKIP"
  std::string reason;
  std::string key;  // "" while its inputs are not known
};

// By step, in the order of the file. `unfinished` is the run that would go on, if any.
std::vector<PlannedStep> make_plan(const Workflow& workflow, const Cache& cache, const RunStory* unfinished,
                                   const EngineOptions& options);

// A file or folder of the user's that a step is to read and that is not there is a mistake to find before anything
// runs. Throws Error{data} with the place.
void check_inputs(const Workflow& workflow);

}  // namespace lockring::app::workflow
