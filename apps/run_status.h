// How a run stands, in its folder's status.json: {"state": "diverged", "message": "..."}.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockring::app {

// `running` is written when training starts. Found in a folder that nobody holds the lock of, it means that the process
// was killed.
enum class RunState { running, stopped, finished, diverged, failed };

std::string_view name_of(RunState state);

struct RunStatus {
  RunState state = RunState::running;
  std::string message;  // why, if there is a reason
};

std::string status_json(const RunStatus& status);
// Nothing if the text is not a status.
std::optional<RunStatus> parse_status(std::string_view text);

}  // namespace lockring::app
