#include "apps/workflow/file_options.h"

#include "core/error.h"
#include "core/text.h"

#include <CLI/CLI.hpp>

namespace lockring::app::workflow {

Workflow FileOptions::read() const {
  Parameters parameters;
  for (const std::string& setting : set) {
    const std::size_t equals = setting.find('=');
    check(equals != std::string::npos && equals > 0, "--set: expected NAME=VALUE, found '{}'", printable(setting));
    parameters.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  return read_workflow(file, parameters);
}

void add_file_options(CLI::App& app, FileOptions& options) {
  app.add_option("FILE", options.file, "the workflow")->required();
  app.add_option("--set", options.set, "another value for a parameter; may be given again")
      ->allow_extra_args(false)
      ->configurable(false)
      ->type_name("NAME=VALUE");
}

}  // namespace lockring::app::workflow
