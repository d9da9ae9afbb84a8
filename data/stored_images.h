// The images of a stored data set, read from disk one by one: for sets that are larger than memory, and for those whose
// images differ in size.
#pragma once

#include "data/image_file.h"
#include "data/image_store.h"
#include "data/random_file.h"
#include "data/tar.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace lockring::data {

// The images of an IDX file [n, h, w] or [n, h, w, c], not compressed, which stays open. Only its header and its length
// are checked, now; an image is one read at its place.
// Throws Error{data} as read_idx does.
std::shared_ptr<const ImageStore> on_disk(const std::filesystem::path& idx_file);

// Images of any size, kept as PNG and JPEG files in a tar archive, which stays open. Any number of threads may read.
class EncodedImages {
 public:
  // `channels` (1 or 3) are made of every image. Throws Error{data} on what list_tar rejects.
  EncodedImages(const std::filesystem::path& tar_file, std::int64_t channels);

  std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }
  std::int64_t channels() const { return channels_; }
  // Throws Error{data}, naming the archive and the entry, if the image is damaged or cannot be read.
  DecodedImage read(std::int64_t index) const;
  // The file as it is, PNG or JPEG.
  std::vector<std::byte> read_file(std::int64_t index) const;

 private:
  RandomFile file_;
  std::int64_t channels_ = 0;
  std::vector<TarEntry> entries_;
};

}  // namespace lockring::data
