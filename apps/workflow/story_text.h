// Runs of workflows and plans as tables and JSON.
#pragma once

#include "apps/workflow/plan.h"
#include "apps/workflow/run_folder.h"

#include <string>
#include <vector>

namespace lockring::app::workflow {

std::string plan_text(const std::vector<PlannedStep>& plan);
std::string plan_json(const std::vector<PlannedStep>& plan);

// One line a run.
std::string runs_text(const std::vector<RunStory>& runs);
std::string runs_json(const std::vector<RunStory>& runs);

// One run: its steps, how they stand, what they made.
std::string run_text(const RunStory& run);
std::string run_json(const RunStory& run);

}  // namespace lockring::app::workflow
