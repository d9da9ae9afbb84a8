// A run as its folder tells it. Nothing is trusted: what is missing, damaged or half-written becomes a problem that is
// named, and the rest is shown.
#pragma once

#include "apps/run_status.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace lockring::app {

using Metrics = std::map<std::string, double>;  // by name; NaN where a value was not finite

struct RunRecord {
  std::filesystem::path path;
  RunStatus status;                                         // stopped also if its process was killed
  std::vector<std::pair<std::string, std::string>> config;  // in the order of config.toml
  std::vector<Metrics> epochs;                              // lines of metrics.jsonl, by epoch
  // What the run comes to. Of an epoch's measures those of the best so far, whose parameters are kept: the highest
  // val_accuracy, among equals the lowest val_loss; without validation the last. Of a finished run also the summary's.
  Metrics metrics;
  std::string command;
  std::vector<std::string> problems;

  // "" if it is not known.
  std::string setting(const std::string& name) const;
};

// At least two of the files that a run leaves.
bool is_run_directory(const std::filesystem::path& folder);
// The names of these files that are there; events of TensorBoard among them.
bool is_run_file(const std::string& name);

RunRecord read_run(const std::filesystem::path& folder);

// The run directories at or below `folder`, in the natural order of their names; links to folders are not followed.
// What cannot be looked into becomes a problem.
std::vector<std::filesystem::path> find_runs(const std::filesystem::path& folder, std::vector<std::string>& problems);

// The settings that not all have alike, in the order of the first that has them.
std::vector<std::string> differing_settings(std::span<const RunRecord> runs);

// The run that a user names: a folder, or the name of one below runs/. Throws Error{usage} that suggests the nearest.
std::filesystem::path named_run(const std::string& name);

}  // namespace lockring::app
