// The configuration file of a command, as CLI11 reads and writes it, and the variables that win over it.
#pragma once

#include <memory>
#include <string>

namespace CLI {
class App;
class Config;
}  // namespace CLI

namespace lockring::app {

// Reads the values of `app`'s options from TOML, which CLI11 asks for before it looks at the environment, so keys whose
// variable is set are left out. Throws Error{usage} on what it does not know. Must not outlive the app.
std::shared_ptr<CLI::Config> config_file(const CLI::App& app, const std::string& command);

// The options of a parsed command with the values they have, defaults included, as TOML: parsed again through
// --config, it gives the same values. Options marked ->configurable(false) are left out.
std::string config_text(const CLI::App& app);

// Gives the options of a parsed command that nobody set the values of `text`: defaults that flags, variables and the
// file win over. `name` is what messages call it. Throws Error{usage} as config_file does.
void apply_defaults(CLI::App& app, const std::string& text, const std::string& name);

// "batch-size" -> "LOCKRING_BATCH_SIZE"
std::string variable_name(const std::string& option);
// Empty variables count as unset, as for CLI11.
bool is_set(const std::string& variable);

}  // namespace lockring::app
