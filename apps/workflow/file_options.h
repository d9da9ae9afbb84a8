// Which workflow a command takes, and with which parameters.
#pragma once

#include "apps/workflow/spec.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lockring::app::workflow {

struct FileOptions {
  std::string file;
  std::vector<std::string> set;  // "NAME=VALUE"

  // Throws as read_workflow does, and Error{usage} for what is no setting.
  Workflow read() const;
};

void add_file_options(CLI::App& app, FileOptions& options);

}  // namespace lockring::app::workflow
