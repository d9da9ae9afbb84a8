#include "data/cache_entries.h"

#include "core/error.h"
#include "data/file_lock.h"

#include <sys/stat.h>

#include <algorithm>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kImages = ".images";
constexpr const char* kLock = ".lock";

// Sorted, so that what is printed does not depend on the file system.
std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  try {
    if (!fs::exists(folder)) return files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
      if (entry.is_regular_file()) files.push_back(entry.path());
  } catch (const fs::filesystem_error& error) {
    fail(ErrorCode::data, "{}", error.what());
  }
  std::ranges::sort(files);
  return files;
}

CacheEntry entry_of(const fs::path& path) {
  CacheEntry entry{.key = path.stem().string(), .path = path, .info = {}, .damage = {}};
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) {
    entry.bytes = status.st_size;
    entry.last_used = status.st_mtime;
  }
  try {
    entry.info = read_cache_info(path);
    if (entry.info->key.name() != entry.key) entry.damage = "its name is not that of its key";
  } catch (const Error& error) {
    entry.damage = error.what();
  }
  if (!entry.damage.empty()) entry.info.reset();
  entry.in_use = entry.info.has_value() && FileLock::take_if_free(path) == nullptr;
  return entry;
}

}  // namespace

std::vector<CacheEntry> list_cache(const fs::path& cache_dir) {
  std::vector<CacheEntry> entries;
  for (const fs::path& path : files_of(cache_dir))
    if (path.extension() == kImages) entries.push_back(entry_of(path));
  return entries;
}

bool remove_cache_entry(const CacheEntry& entry) {
  const auto lock = FileLock::take_if_free(entry.path);
  std::error_code error;
  if (lock == nullptr && fs::exists(entry.path, error)) return false;
  fs::remove(entry.path, error);
  check(!error, ErrorCode::data, "cannot remove {}: {}", entry.path.string(), error.message());
  return true;
}

// Under the lock of their entry: a file that is just being made is no leftover.
void remove_cache_leftovers(const fs::path& cache_dir) {
  const auto remove_if_free = [](const fs::path& path, const fs::path& lock_path) {
    std::error_code ignored;
    const auto lock = FileLock::take_if_free(lock_path);
    if (lock != nullptr || !fs::exists(lock_path, ignored)) fs::remove(path, ignored);
  };
  for (const fs::path& path : files_of(cache_dir)) {
    const std::string name = path.filename().string();
    const std::size_t half_made = name.find(std::string(kImages) + ".tmp.");
    if (half_made != std::string::npos) remove_if_free(path, cache_dir / (name.substr(0, half_made) + kLock));
    if (path.extension() == kLock && !fs::exists(fs::path(path).replace_extension(kImages))) remove_if_free(path, path);
  }
}

std::vector<std::string> differing_parts(const CacheKey& one, const CacheKey& other) {
  std::vector<std::string> parts;
  if (one.format != other.format) parts.emplace_back("format");
  if (one.digest != other.digest) parts.emplace_back("data");
  if (one.split != other.split) parts.emplace_back("split");
  if (one.front != other.front) parts.emplace_back("front");
  return parts;
}

CacheLookup look_up(std::span<const CacheEntry> entries, const CacheKey& key) {
  CacheLookup lookup;
  for (const CacheEntry& entry : entries) {
    if (entry.key == key.name()) {
      lookup = {&entry, nullptr, {}};
      return lookup;
    }
    if (!entry.info.has_value()) continue;
    std::vector<std::string> differs = differing_parts(entry.info->key, key);
    // The other split of the same front says less than another front of the same split.
    const auto distance = [](const std::vector<std::string>& parts) {
      return 2 * parts.size() + static_cast<std::size_t>(std::ranges::count(parts, "split"));
    };
    if (lookup.nearest != nullptr && distance(differs) >= distance(lookup.differs)) continue;
    lookup.nearest = &entry;
    lookup.differs = std::move(differs);
  }
  return lookup;
}

}  // namespace lockring::data
