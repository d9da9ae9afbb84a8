// What lies in the disk cache (image_cache.h): to show it, to clear it, and to say why something is not there.
#pragma once

#include "data/cache_file.h"

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockring::data {

struct CacheEntry {
  std::string key;  // the file's name without its extension
  std::filesystem::path path;
  std::int64_t bytes = 0;
  std::time_t last_used = 0;
  bool in_use = false;            // some process reads it just now
  std::optional<CacheInfo> info;  // nothing if the file is damaged
  std::string damage;             // why, if so
};

// In the order of their keys; none if there is no such folder. Throws Error{data} if the folder cannot be read.
std::vector<CacheEntry> list_cache(const std::filesystem::path& cache_dir);

// False, and nothing is removed, if some process uses the entry. Throws Error{data} if it cannot be removed.
bool remove_cache_entry(const CacheEntry& entry);
// Removes what killed processes left and what nobody needs: half-made files, and locks without a file.
void remove_cache_leftovers(const std::filesystem::path& cache_dir);

// The parts in which two keys differ, of "format", "data", "split" and "front".
std::vector<std::string> differing_parts(const CacheKey& one, const CacheKey& other);

struct CacheLookup {
  const CacheEntry* entry = nullptr;    // the entry of the key: a hit, if it is whole
  const CacheEntry* nearest = nullptr;  // if there is none: the one whose key differs in the fewest parts
  std::vector<std::string> differs;     // in what
};
// `entries` must outlive the result.
CacheLookup look_up(std::span<const CacheEntry> entries, const CacheKey& key);

}  // namespace lockring::data
