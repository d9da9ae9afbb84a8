// Where data sets lie on disk:
//
//   DATA_DIR/NAME/current           names the version in use
//   DATA_DIR/NAME/DIGEST-PREFIX/    one version: manifest.json and the four IDX files, uncompressed; never changed
//
// A version can itself be ingested again, by us or by any reader of IDX files.
#pragma once

#include "data/manifest.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::data {

// $XDG_DATA_HOME/lockring/data, else ~/.local/share/lockring/data. Throws Error{usage} if neither is set.
std::filesystem::path default_data_dir();

// DATA_DIR/NAME. Throws Error{usage} on a name that is not of lower-case letters, digits, '.', '_' and '-'.
std::filesystem::path dataset_folder(const std::filesystem::path& data_dir, std::string_view name);
// The folder of the version in use. Throws Error{data} that says how to ingest if there is none.
std::filesystem::path current_version(const std::filesystem::path& data_dir, std::string_view name);
void set_current_version(const std::filesystem::path& folder, std::string_view version);

// Reads a version's files and compares them with their checksums; throws Error{data} at the first that is damaged.
Content read_stored(const std::filesystem::path& directory, const Manifest& manifest);

struct DatasetInfo {
  std::filesystem::path directory;
  Manifest manifest;
  std::vector<std::string> versions;  // all that are stored, the current one included
};
// Reads the manifest only.
DatasetInfo dataset_info(const std::filesystem::path& data_dir, std::string_view name = "fashion-mnist");

// Checks the manifest and every byte of the current version; throws Error{data} that names all that is damaged.
DatasetInfo verify_dataset(const std::filesystem::path& data_dir, std::string_view name = "fashion-mnist");

}  // namespace lockring::data
