// Writing a data set's files as they are stored.
#pragma once

#include "data/content.h"
#include "data/manifest.h"
#include "data/raw_dataset.h"

#include <filesystem>
#include <string>
#include <vector>

namespace lockring::data {

struct StoredContent {
  std::vector<StoredFile> files;  // training images, training labels, test images, test labels
  std::string digest;             // SHA-256 of the four, one after the other
  ChannelStatistics statistics;   // of the training images
};

// Reads all images of `raw`, which has been surveyed, and writes the four files into `folder`, without holding more
// than a few images at once. Images of one size become an IDX file, of 4 dimensions if they have colours; images of
// several sizes become a tar archive of their files, named CLASS/NUMBER.png or .jpg in the order of the labels. Throws
// Error{data} on what is wrong with the source or the disk.
StoredContent store_content(RawDataset& raw, const std::filesystem::path& folder, const FileProgress& progress);

// classes.txt.
StoredFile store_class_names(const std::filesystem::path& folder, const std::vector<std::string>& names);

}  // namespace lockring::data
