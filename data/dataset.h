// A data set to train and to evaluate with: its images have passed the front of a transform, and lie where they can be
// read fast.
#pragma once

#include "core/tensor.h"
#include "data/content.h"
#include "data/front.h"
#include "data/image_store.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::data {

struct Split {
  std::shared_ptr<const ImageStore> images;
  Tensor labels;  // u8 [n]

  std::int64_t size() const { return labels.defined() ? labels.size(0) : 0; }
};

// Never changed after loading, so any number of threads may read it.
struct Dataset {
  std::string name;
  std::string digest;                // of the content
  std::vector<std::string> classes;  // by label
  ChannelStatistics statistics;      // of the training images after the front; none if they were not asked for
  Split train;
  Split test;
  std::string warning;  // what those who use it should know (manifest.h); mostly empty
};

struct LoadOptions {
  Front front;
  // Splits that are needed; the other has labels only.
  bool train = true;
  bool test = true;
  std::int64_t memory = std::numeric_limits<std::int64_t>::max();  // bytes of images to hold there at most
  std::filesystem::path cache_dir;                                 // of the disk cache; empty: none
  // Told what the user should know; also by threads that read images later, one at a time.
  std::function<void(const std::string&)> notice;
  // Told how many images of a split have passed the front.
  std::function<void(std::string_view split, std::int64_t done, std::int64_t total)> progress;
};

// The current version of the data set `name` under `data_dir`, or version V of NAME for NAME@V. Where the images of a
// split lie:
//
// - in memory, if they fit into what is left of it, the training images first;
// - else, if the front changes nothing, in the data set's own file, which is read image by image;
// - else in the disk cache, whence images that take long to decode also come before they are held in memory;
// - else nowhere: each is computed whenever it is read.
//
// All that is read is compared with its checksums. Throws Error{data} when there is no such data set, or when it is
// damaged; Error{usage} if the front leaves images of many sizes.
Dataset load_dataset(const std::filesystem::path& data_dir, std::string_view name = "fashion-mnist",
                     const LoadOptions& options = {});

}  // namespace lockring::data
