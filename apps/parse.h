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

namespace CLI {
class Validator;
}

namespace lockring::app {

// `arguments` are those after the command's name. Asked for help, the action prints it. Throws Error{usage} for all
// that is wrong with the arguments, the variables or the file.
Action parse(const Command& command, std::vector<std::string> arguments);

// The options of a parsed command with the values they have, defaults included, as TOML: parsed again through
// --config, it gives the same values. Options marked ->configurable(false) are left out.
std::string config_text(const CLI::App& app);

// Accepts these words only, and suggests the nearest: app.add_option(...)->check(one_of({"sgd", "adam"})).
CLI::Validator one_of(std::vector<std::string> words);

}  // namespace lockring::app
