// A file of the disk cache: the images of a split as they come out of a front, each with a checksum.
//
//   64 bytes      "lockring images" and zeros
//   n images      [h, w, c] each, in order
//   n x 4 bytes   the CRC-32 of each image
//   description   JSON: the key, the data set's name, the shape, the statistics
//   32 bytes      "image cache end\n", and in 4 bytes each the description's length, its CRC-32, that of the
//                 checksums, and 0
//
// Numbers are little-endian. The end is written last, so what is whole at its end is whole, and a flipped bit shows in
// one of the checksums.
#pragma once

#include "core/error.h"
#include "data/content.h"
#include "data/image_store.h"
#include "data/read_images.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace lockring::data {

// Raised when the form of the file changes, or what a front makes of an image does.
inline constexpr int kCacheFormat = 1;

// What a file holds. Equal keys mean equal pixels.
struct CacheKey {
  int format = kCacheFormat;
  std::string digest;  // of the data set
  std::string split;   // "train" or "test"
  std::string front;   // "resize:32x32,grayscale"

  // 16 hex digits that stand for all of it.
  std::string name() const;
  bool operator==(const CacheKey&) const = default;
};

struct CacheInfo {
  CacheKey key;
  std::string dataset;
  Shape shape;                   // [n, h, w, c]
  ChannelStatistics statistics;  // of these images
};

// What is thrown where the cache cannot be written to, as opposed to what is wrong with the data.
class CacheUnusable : public Error {
  using Error::Error;
};

// Writes all of `images`. Throws CacheUnusable, and what reading the images throws.
void write_cache_file(const std::filesystem::path& path, const CacheKey& key, const std::string& dataset,
                      const ImageStore& images, const ImageProgress& progress = {});

// Throws Error{data} that says what is wrong with a file that is missing, not one of a cache, or not whole. Reads
// everything but the images.
CacheInfo read_cache_info(const std::filesystem::path& path);

struct CacheFile {
  CacheInfo info;
  std::shared_ptr<const ImageStore> images;
};

// As read_cache_info; keeps the file open, and marked as in use (file_lock.h). An image is compared with its checksum
// when it is read for the first time. Where it is damaged, or cannot be read, on_damage is told once, and such images
// come from `source`, made when first needed. Both are called by the thread that reads, one at a time.
CacheFile open_cache_file(const std::filesystem::path& path, std::function<std::shared_ptr<const ImageStore>()> source,
                          std::function<void(const std::string& reason)> on_damage);

}  // namespace lockring::data
