#include "apps/data_options.h"

#include "apps/memory.h"
#include "apps/option_values.h"
#include "data/dataset_store.h"
#include "data/image_cache.h"

#include <CLI/CLI.hpp>

namespace lockring::app {

std::filesystem::path DataOptions::directory() const {
  return data_dir.empty() ? data::default_data_dir() : std::filesystem::path(data_dir);
}

std::int64_t CacheOptions::bytes() const {
  return memory == "auto" ? available_bytes() / 2 : parse_bytes(memory, "--cache-memory");
}

std::filesystem::path CacheOptions::directory() const {
  return dir.empty() ? data::default_cache_dir() : std::filesystem::path(dir);
}

void add_data_options(CLI::App& app, DataOptions& options) {
  app.add_option("--dataset", options.dataset, "name of the data set; NAME@DIGITS is its version of that digest")
      ->type_name("NAME");
  app.add_option("--data-dir", options.data_dir, "where data sets are stored [$XDG_DATA_HOME/lockring/data]")
      ->type_name("DIR");
}

void add_cache_dir(CLI::App& app, CacheOptions& options) {
  app.add_option("--cache-dir", options.dir, "where prepared images are kept on disk [$XDG_CACHE_HOME/lockring]")
      ->type_name("DIR");
}

void add_cache_options(CLI::App& app, CacheOptions& options) {
  app.add_option("--cache-memory", options.memory,
                 "images to hold in memory at most, such as 512M or 2G; auto is half of what is free")
      ->type_name("SIZE");
  add_cache_dir(app, options);
}

}  // namespace lockring::app
