// From the command line, the environment and a configuration file to an action.
//
// An option --batch-size takes its value from the flag, else from the variable LOCKRING_BATCH_SIZE, else from the key
// batch-size of the file named by --config (or LOCKRING_CONFIG), else it keeps its default. In the file, keys stand at
// the top or in a section named after the command, [train] or [data.ingest], which wins; sections of other commands
// are ignored, so one file can serve them all. Whatever is unknown is an error that suggests the nearest known name.
#pragma once

#include "apps/command.h"

#include <string>
#include <vector>

namespace lockring::app {

// `arguments` are those after the command's name. Asked for help, the action prints it. Throws Error{usage} for all
// that is wrong with the arguments, the variables or the file.
Action parse(const Command& command, std::vector<std::string> arguments);

}  // namespace lockring::app
