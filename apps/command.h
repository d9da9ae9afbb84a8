// The subcommands of the program `lockring`.
//
// A subcommand is one file apps/<name>.cpp and one row of the table in apps/commands.cpp. The file defines the row's
// declare function, which adds the command's options to a CLI::App and returns what to run once they are parsed:
//
//   Action doctor(CLI::App& app) {
//     auto json = std::make_shared<bool>(false);
//     app.add_flag("--json", *json, "print one JSON object");
//     app.footer("Example:\n  lockring doctor --json");
//     return [json] { return report(*json); };
//   }
//
// Every command gets --help, which ends with the footer's example, and --config. Options get their values from flags,
// then LOCKRING_* variables, then the configuration file, then defaults (apps/parse.h). option_values.h has checks
// of values, data_options.h the options of all who read a data set.
#pragma once

#include <functional>
#include <span>
#include <string>

namespace CLI {
class App;
}

namespace lockring::app {

// Runs a command whose options are parsed; the result is the process's exit code. May throw Error.
using Action = std::function<int()>;

struct Command {
  std::string name;     // one word or more: "train", "data ingest"
  std::string summary;  // half a line for the list of commands
  // Binds the options to memory that the returned action owns. The App outlives the action.
  Action (*declare)(CLI::App& app);
};

// All commands, in the order of the help.
std::span<const Command> commands();

}  // namespace lockring::app
