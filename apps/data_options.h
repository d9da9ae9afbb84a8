// Which data set a command works on: --dataset and --data-dir, the same for every command.
#pragma once

#include <filesystem>
#include <string>

namespace CLI {
class App;
}

namespace lockring::app {

struct DataOptions {
  std::string dataset = "fashion-mnist";
  std::string data_dir;  // empty: the user's data directory

  // Throws Error{usage} if the user has no data directory and none was given.
  std::filesystem::path directory() const;
};

void add_data_options(CLI::App& app, DataOptions& options);

}  // namespace lockring::app
