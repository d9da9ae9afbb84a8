// A stored data set that is opened but not read: its labels are in memory, its images where they lie.
#pragma once

#include "data/manifest.h"
#include "data/stored_images.h"

#include <filesystem>
#include <memory>
#include <string_view>

namespace lockring::data {

// One of `images` and `encoded` is there, the same one in both splits.
struct StoredSplit {
  std::shared_ptr<const ImageStore> images;      // of one size
  std::shared_ptr<const EncodedImages> encoded;  // of several
  Tensor labels;                                 // u8 [n]
};

struct StoredDataset {
  std::filesystem::path directory;
  Manifest manifest;
  StoredSplit train;
  StoredSplit test;
};

// A whole IDX file of a version, compared with its checksum. Throws Error{data} if it is damaged.
Tensor read_stored_idx(const std::filesystem::path& directory, const StoredFile& file);

// The current version of `name`, or version V of NAME for NAME@V. Labels are compared with their checksums; of the
// image files, only sizes and headers: `lockring data verify` reads them. Throws Error{data} when there is none, or
// when what is checked is damaged.
StoredDataset open_dataset(const std::filesystem::path& data_dir, std::string_view name);

}  // namespace lockring::data
