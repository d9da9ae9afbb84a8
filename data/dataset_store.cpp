#include "data/dataset_store.h"

#include "core/error.h"
#include "core/text.h"
#include "data/class_names.h"
#include "data/random_file.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPointer = "current";
constexpr std::int64_t kChunk = std::int64_t{1} << 20;

// Names of the data sets that are there, to suggest the one that was meant.
std::vector<std::string> stored_names(const fs::path& data_dir) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(data_dir, ignored))
    if (fs::exists(entry.path() / kPointer, ignored)) names.push_back(entry.path().filename().string());
  return names;
}

// Folders that start with a dot are at work or left over.
std::vector<std::string> stored_versions(const fs::path& folder) {
  std::vector<std::string> versions;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && !entry.path().filename().string().starts_with('.'))
      versions.push_back(entry.path().filename().string());
  std::ranges::sort(versions);
  return versions;
}

// The pointer is a file, not a symbolic link: it is replaced in one step and survives copying to other file systems.
std::string current_version(const fs::path& folder) {
  std::string version = read_file(folder / kPointer);
  while (!version.empty() && version.back() == '\n') version.pop_back();
  check(!version.empty() && version.find('/') == std::string::npos && fs::is_directory(folder / version),
        ErrorCode::data, "{}: expected the name of a stored version, found '{}': ingest the data set again",
        (folder / kPointer).string(), version);
  return version;
}

// The only version that starts so.
std::string version_named(const fs::path& folder, std::string_view start) {
  const std::vector<std::string> versions = stored_versions(folder);
  std::vector<std::string> found;
  std::ranges::copy_if(versions, std::back_inserter(found),
                       [&](const std::string& version) { return version.starts_with(start); });
  check(!start.empty() && found.size() == 1, ErrorCode::data,
        "{}: expected one version that starts with '{}', found {}", folder.string(), start,
        found.empty() ? "none among " + joined(versions) : joined(found));
  return found[0];
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

fs::path find_version(const fs::path& data_dir, std::string_view name) {
  const std::size_t at = name.find('@');
  const std::string_view dataset = name.substr(0, at);
  const fs::path folder = dataset_folder(data_dir, dataset);
  check(fs::exists(folder / kPointer), ErrorCode::data,
        "no data set '{}' in {}{}: run `lockring data ingest --dataset {}` first", dataset, data_dir.string(),
        did_you_mean(dataset, stored_names(data_dir)), dataset);
  return folder / (at == std::string_view::npos ? current_version(folder) : version_named(folder, name.substr(at + 1)));
}

void set_current_version(const fs::path& folder, std::string_view version) {
  write_file(folder / kPointer, std::string(version) + "\n");
}

std::string dataset_digest(const std::string& content, const std::vector<std::string>& classes) {
  return classes.empty() ? content : sha256(content + "\n" + class_file_text(classes));
}

void check_stored_file(const fs::path& directory, const StoredFile& stored, Sha256* digest) {
  const fs::path path = directory / stored.name;
  const RandomFile file(path);
  check(file.size() == stored.bytes, ErrorCode::data, "{}: {}: expected {} bytes, found {}", path.string(),
        file.size() < stored.bytes ? "truncated" : "too long", stored.bytes, file.size());
  Sha256 checksum;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(kChunk, stored.bytes)));
  for (std::int64_t done = 0; done < stored.bytes; done += std::ssize(buffer)) {
    buffer.resize(static_cast<std::size_t>(std::min(kChunk, stored.bytes - done)));
    file.read(done, buffer);
    checksum.update(buffer);
    if (digest != nullptr) digest->update(buffer);
  }
  const std::string found = checksum.hex();
  check(found == stored.checksum, ErrorCode::data, "{}: damaged: expected SHA-256 {}, found {}", path.string(),
        stored.checksum, found);
}

// Goes on after the first damage, to name all of it.
std::vector<std::string> find_damage(const fs::path& directory, const Manifest& manifest) {
  std::vector<std::string> damage;
  Sha256 content;
  Sha256 names;
  bool named = false;
  for (const StoredFile& file : manifest.files) {
    try {
      named = file.name == kClassFile;
      check_stored_file(directory, file, named ? &names : &content);
    } catch (const Error& error) {
      damage.emplace_back(error.what());
    }
  }
  if (!damage.empty()) return damage;
  const std::string digest = dataset_digest(content.hex(), named ? manifest.classes : std::vector<std::string>());
  if (digest != manifest.digest)
    damage.push_back(fmt::format("{}: the digest in the manifest is not that of the files", directory.string()));
  return damage;
}

DatasetInfo dataset_info(const fs::path& data_dir, std::string_view name) {
  DatasetInfo info;
  info.directory = find_version(data_dir, name);
  info.manifest = read_manifest(info.directory);
  const fs::path folder = info.directory.parent_path();
  const std::string current = current_version(folder);
  for (const std::string& version : stored_versions(folder)) {
    info.versions.push_back({version, version == current, {}});
    try {
      info.versions.back().manifest = read_manifest(folder / version);
    } catch (const Error&) {
      // Listed all the same: it takes up room.
    }
  }
  std::ranges::sort(info.versions, {},
                    [](const StoredVersion& one) { return std::pair(one.manifest.ingested_utc, one.name); });
  return info;
}

DatasetInfo verify_dataset(const fs::path& data_dir, std::string_view name) {
  DatasetInfo info = dataset_info(data_dir, name);
  const std::vector<std::string> damage = find_damage(info.directory, info.manifest);
  check(damage.empty(), ErrorCode::data, "data set '{}' is damaged, ingest it again: {}", name, joined(damage, "; "));
  return info;
}

}  // namespace lockring::data
