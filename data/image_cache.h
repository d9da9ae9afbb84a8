// The disk cache: images as they come out of a front, for sets that memory does not hold and for those that take long
// to decode.
//
//   CACHE_DIR/KEY.images   one split of a data set after one front (cache_file.h); written once, never changed
//   CACHE_DIR/KEY.lock     locked by who makes it
//
// Any number of processes may use one directory: one makes an entry, the others wait and find it. A process that is
// killed blocks nobody; what it left is removed by the next.
#pragma once

#include "data/cache_file.h"
#include "data/image_store.h"
#include "data/read_images.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace lockring::data {

// $XDG_CACHE_HOME/lockring, else ~/.cache/lockring; empty if neither is set.
std::filesystem::path default_cache_dir();
std::filesystem::path cache_path(const std::filesystem::path& cache_dir, const CacheKey& key);

struct ImageCacheOptions {
  std::filesystem::path directory;  // made when needed; empty: there is no cache
  // Told what the user should know; also by threads that read images later, one at a time.
  std::function<void(const std::string&)> notice;
};

// One thread at a time. The images that it gives are independent of it.
class ImageCache {
 public:
  using MakeImages = std::function<std::shared_ptr<const ImageStore>()>;

  explicit ImageCache(ImageCacheOptions options) : options_(std::move(options)) {}

  // The entry of `key`, made from what `source` gives if it is not there or not whole. Nothing, after a notice that is
  // given once, if the cache cannot be used: no directory, a full or read-only disk. Throws what `source` and its
  // images throw.
  std::optional<HeldImages> find_or_make(const CacheKey& key, const std::string& dataset, const MakeImages& source,
                                         const ImageProgress& progress = {});

 private:
  std::optional<HeldImages> find(const CacheKey& key, const MakeImages& source, std::string& reason) const;
  HeldImages make(const CacheKey& key, const std::string& dataset, const MakeImages& source,
                  const ImageProgress& progress) const;
  void notice(const std::string& text) const {
    if (options_.notice) options_.notice(text);
  }

  ImageCacheOptions options_;
  bool unusable_ = false;
};

}  // namespace lockring::data
