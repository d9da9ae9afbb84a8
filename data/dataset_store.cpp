#include "data/dataset_store.h"

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

#include <algorithm>
#include <cstdlib>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPointer = "current";

// Names of the data sets that are there, to suggest the one that was meant.
std::vector<std::string> stored_names(const fs::path& data_dir) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(data_dir, ignored))
    if (fs::exists(entry.path() / kPointer, ignored)) names.push_back(entry.path().filename().string());
  return names;
}

// Hashing Fashion-MNIST takes tens of milliseconds, so every load is a verified one.
Tensor read_stored_file(const fs::path& path, const StoredFile& file) {
  Tensor values = read_idx(path);
  const std::string checksum = file_checksum(values);
  check(checksum == file.checksum, ErrorCode::data, "{}: damaged: expected SHA-256 {}, found {}", path.string(),
        file.checksum, checksum);
  return values;
}

}  // namespace

fs::path default_data_dir() {
  const char* data_home = std::getenv("XDG_DATA_HOME");
  // The XDG specification: a relative path is invalid and to be ignored.
  if (data_home != nullptr && data_home[0] == '/') return fs::path(data_home) / "lockring" / "data";
  const char* home = std::getenv("HOME");
  check(home != nullptr && home[0] != '\0', "neither XDG_DATA_HOME nor HOME is set: say where data is with --data-dir");
  return fs::path(home) / ".local" / "share" / "lockring" / "data";
}

fs::path dataset_folder(const fs::path& data_dir, std::string_view name) {
  const bool valid = !name.empty() && name.front() != '.' && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
  check(valid, "data set name: expected lower-case letters, digits, '-', '_' and '.', found '{}'", name);
  return data_dir / name;
}

// The pointer is a file, not a symbolic link: it is replaced in one step and survives copying to other file systems.
fs::path current_version(const fs::path& data_dir, std::string_view name) {
  const fs::path folder = dataset_folder(data_dir, name);
  check(fs::exists(folder / kPointer), ErrorCode::data,
        "no data set '{}' in {}{}: run `lockring data ingest --dataset {}` first", name, data_dir.string(),
        did_you_mean(name, stored_names(data_dir)), name);
  std::string version = read_file(folder / kPointer);
  while (!version.empty() && version.back() == '\n') version.pop_back();
  check(!version.empty() && version.find('/') == std::string::npos && fs::is_directory(folder / version),
        ErrorCode::data, "{}: expected the name of a stored version, found '{}': ingest the data set again",
        (folder / kPointer).string(), version);
  return folder / version;
}

void set_current_version(const fs::path& folder, std::string_view version) {
  write_file(folder / kPointer, std::string(version) + "\n");
}

Content read_stored(const fs::path& directory, const Manifest& manifest) {
  Content content;
  for (std::size_t i = 0; i < content.size(); ++i)
    content[i] = read_stored_file(directory / kFileNames[i], manifest.files[i]);
  return content;
}

DatasetInfo dataset_info(const fs::path& data_dir, std::string_view name) {
  DatasetInfo info;
  info.directory = current_version(data_dir, name);
  info.manifest = read_manifest(info.directory);
  // Folders that start with a dot are at work or left over.
  for (const fs::directory_entry& entry : fs::directory_iterator(info.directory.parent_path()))
    if (entry.is_directory() && !entry.path().filename().string().starts_with('.'))
      info.versions.push_back(entry.path().filename().string());
  std::ranges::sort(info.versions);
  return info;
}

// Goes on after the first damage, to name all of it.
DatasetInfo verify_dataset(const fs::path& data_dir, std::string_view name) {
  DatasetInfo info = dataset_info(data_dir, name);
  std::vector<std::string> damage;
  Content content;
  for (std::size_t i = 0; i < content.size(); ++i) {
    try {
      content[i] = read_stored_file(info.directory / kFileNames[i], info.manifest.files[i]);
    } catch (const Error& error) {
      damage.push_back(error.what());
    }
  }
  if (damage.empty() && content_digest(content) != info.manifest.digest)
    damage.push_back(fmt::format("{}: the digest in the manifest is not that of the files", info.directory.string()));
  check(damage.empty(), ErrorCode::data, "data set '{}' is damaged, ingest it again: {}", name, joined(damage, "; "));
  return info;
}

}  // namespace lockring::data
