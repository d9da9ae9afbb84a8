#include "data/image_cache.h"

#include "core/error.h"
#include "data/file_lock.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <vector>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

// What killed processes left of the entry; its lock is held.
void remove_leftovers(const fs::path& path) {
  const std::string beginning = path.filename().string() + ".tmp.";
  std::vector<fs::path> leftovers;
  for (const fs::directory_entry& entry : fs::directory_iterator(path.parent_path()))
    if (entry.path().filename().string().starts_with(beginning)) leftovers.push_back(entry.path());
  for (const fs::path& leftover : leftovers) fs::remove(leftover);
}

// Some file systems know no locks. Without one, two may make the same entry, and the last one stays.
std::unique_ptr<FileLock> lock_if_possible(const fs::path& path, const std::function<void()>& on_wait) {
  try {
    return std::make_unique<FileLock>(path, on_wait);
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

fs::path default_cache_dir() {
  const char* cache_home = std::getenv("XDG_CACHE_HOME");
  // The XDG specification: a relative path is invalid and to be ignored.
  if (cache_home != nullptr && cache_home[0] == '/') return fs::path(cache_home) / "lockring";
  const char* home = std::getenv("HOME");
  return home == nullptr || home[0] == '\0' ? fs::path() : fs::path(home) / ".cache" / "lockring";
}

fs::path cache_path(const fs::path& cache_dir, const CacheKey& key) { return cache_dir / (key.name() + ".images"); }

std::optional<HeldImages> ImageCache::find_or_make(const CacheKey& key, const std::string& dataset,
                                                   const MakeImages& source, const ImageProgress& progress) {
  if (unusable_) return std::nullopt;
  std::string reason;
  if (!options_.directory.empty())
    if (auto found = find(key, source, reason)) return found;
  try {
    return make(key, dataset, source, progress);
  } catch (const CacheUnusable& error) {
    reason = error.what();
  } catch (const fs::filesystem_error& error) {
    reason = error.what();
  }
  unusable_ = true;
  notice(fmt::format("there is no disk cache, so images are prepared anew whenever they are read: {}", reason));
  return std::nullopt;
}

std::optional<HeldImages> ImageCache::find(const CacheKey& key, const MakeImages& source, std::string& reason) const {
  const fs::path path = cache_path(options_.directory, key);
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  // A damaged file goes, so that the next process makes it anew; those who have it open keep it.
  const auto on_damage = [path, notice = options_.notice](const std::string& what) {
    std::error_code ignored;
    fs::remove(path, ignored);
    if (notice) notice(fmt::format("{}: such images are prepared anew, and the next run makes the file anew", what));
  };
  try {
    CacheFile file = open_cache_file(path, source, on_damage);
    if (file.info.key == key) {
      utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // when it was last used
      return HeldImages{std::move(file.images), std::move(file.info.statistics)};
    }
    reason = fmt::format("{}: expected the images of another key", path.string());
  } catch (const Error& failure) {
    reason = failure.what();
  }
  return std::nullopt;
}

HeldImages ImageCache::make(const CacheKey& key, const std::string& dataset, const MakeImages& source,
                            const ImageProgress& progress) const {
  if (options_.directory.empty())
    throw CacheUnusable(ErrorCode::data, "neither XDG_CACHE_HOME nor HOME is set; --cache-dir says where it may be");
  const fs::path path = cache_path(options_.directory, key);
  fs::create_directories(options_.directory);
  const auto on_wait = [&] { notice(fmt::format("waiting for another process that makes {}", path.string())); };
  const auto lock = lock_if_possible(fs::path(path).replace_extension("lock"), on_wait);
  std::string reason;
  if (auto found = find(key, source, reason)) return *found;  // the one that was waited for
  if (!reason.empty()) notice(reason + ": it is made anew");
  if (lock != nullptr) remove_leftovers(path);
  const std::shared_ptr<const ImageStore> images = source();
  write_cache_file(path, key, dataset, *images, progress);
  if (auto made = find(
          key, [images] { return images; }, reason))
    return *made;
  throw CacheUnusable(ErrorCode::data, fmt::format("written, but not whole: {}", reason));
}

}  // namespace lockring::data
