// Which data set a command works on, and where its images are kept meanwhile: the same options for every command.
#pragma once

#include <cstdint>
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

struct CacheOptions {
  std::string memory = "auto";
  std::string dir;  // empty: the user's cache directory

  // Bytes of images to hold in memory: half of what is available, unless given. Throws Error{usage} on anything else
  // than a size.
  std::int64_t bytes() const;
  // Empty if the user has no cache directory and none was given.
  std::filesystem::path directory() const;
};

void add_data_options(CLI::App& app, DataOptions& options);
void add_cache_dir(CLI::App& app, CacheOptions& options);
void add_cache_options(CLI::App& app, CacheOptions& options);

}  // namespace lockring::app
