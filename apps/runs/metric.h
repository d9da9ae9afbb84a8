// The measures that runs are compared by.
#pragma once

#include "apps/runs/run_record.h"

#include <span>
#include <string>
#include <vector>

namespace lockring::app {

// "0.8638", "12,345", "3 min 20 s", "218 MiB", "0.4 %"; "-" for one that the run does not have, "nan" for NaN.
std::string metric_text(const RunRecord& run, const std::string& name);
// Whether it tells of the machine, such as a speed: the same training has another value elsewhere, and the next time.
bool is_of_machine(const std::string& name);
// Short, for a column.
std::string heading(const std::string& name);

// The full name of a metric that a user calls by its name or its heading. Throws Error{usage} with the known ones.
std::string find_metric(const std::string& name, std::span<const RunRecord> runs);
// All that at least one run has, the most telling first.
std::vector<std::string> metric_names(std::span<const RunRecord> runs);

// Best first, where neither more nor less is better the most: finished runs, then others that have the metric, then
// those that have it not or as NaN. Equal ones keep their order.
void rank(std::vector<RunRecord>& runs, const std::string& metric);
// Whether the run has a finite value of the metric that no other beats, if one can be better than another.
bool is_best(const RunRecord& run, std::span<const RunRecord> runs, const std::string& metric);

}  // namespace lockring::app
