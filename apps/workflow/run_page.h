// A run of a workflow as the server's page shows it: the graph of its steps, how each stands, what it came to.
#pragma once

#include <filesystem>
#include <string>

namespace lockring::app::workflow {

// One JSON object of the run in this folder (.lockring/runs/NAME-N), read anew: times in seconds since 1970, steps in
// the order of the file with those that each waits for, the events of its life, and results. Throws Error{data} if
// there is no such run, or if it is damaged.
std::string run_page_json(const std::filesystem::path& folder, double now);

}  // namespace lockring::app::workflow
