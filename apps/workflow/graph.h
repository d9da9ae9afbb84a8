// Who waits for whom.
#pragma once

#include "apps/workflow/spec.h"

#include <functional>
#include <vector>

namespace lockring::app::workflow {

// Calls `f` for every reference in a step, with the place of the text that it stands in.
void for_each_reference(const StepSpec& step, const std::function<void(const Reference&, Place)>& f);

struct Graph {
  // By step: the steps that it waits for, and those that wait for it. Ascending.
  std::vector<std::vector<int>> before;
  std::vector<std::vector<int>> after;

  // A step and all that come after it.
  std::vector<int> reachable(int step) const;
};

// Of a workflow that was checked.
Graph make_graph(const Workflow& workflow);

// What concerns the steps together: references and needs that name nothing, two outputs in one place, cycles. Throws
// Error{data} with the place.
void check_workflow(const Workflow& workflow);

}  // namespace lockring::app::workflow
