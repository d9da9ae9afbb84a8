// The order in which runs are chosen.
#pragma once

#include "apps/runs/run_record.h"

#include <span>
#include <string>
#include <vector>

namespace lockring::app {

// How ties are told apart, as a sentence for people.
inline constexpr const char* kTieBreak = "ties: lower val_loss, then fewer parameters, then the earlier run";

// Best first by the metric (runs/metric.h), ties by kTieBreak, a run being as early as its config.toml. Runs that are
// not finished, and below them those that have no finite value of it, come last.
void rank_to_select(std::vector<RunRecord>& runs, const std::string& metric);

// Why the run cannot be chosen by the metric, or "" if it can.
std::string why_not(const RunRecord& run, const std::string& metric);

}  // namespace lockring::app
