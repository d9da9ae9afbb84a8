#include "apps/data_options.h"

#include "data/dataset_store.h"

#include <CLI/CLI.hpp>

namespace lockring::app {

std::filesystem::path DataOptions::directory() const {
  return data_dir.empty() ? data::default_data_dir() : std::filesystem::path(data_dir);
}

void add_data_options(CLI::App& app, DataOptions& options) {
  app.add_option("--dataset", options.dataset, "name of the data set")->type_name("NAME");
  app.add_option("--data-dir", options.data_dir, "where data sets are stored [$XDG_DATA_HOME/lockring/data]")
      ->type_name("DIR");
}

}  // namespace lockring::app
