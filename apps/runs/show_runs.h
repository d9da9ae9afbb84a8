// Runs as text for people and as JSON for programs.
#pragma once

#include "apps/runs/run_record.h"

#include <span>
#include <string>

namespace lockring::app {

// One row a run. `metric` gets a column if it has none; "" for none.
std::string runs_table(std::span<const RunRecord> runs, const std::string& metric);
// An array of objects.
std::string runs_json(std::span<const RunRecord> runs);

// Configuration, epochs, curves, files.
std::string run_text(const RunRecord& run, bool utf8);
std::string run_json(const RunRecord& run);

// The settings that differ, and the metrics side by side, the best marked by '*'.
std::string comparison_text(std::span<const RunRecord> runs);
std::string comparison_json(std::span<const RunRecord> runs);

}  // namespace lockring::app
