// A data set in memory, as ingestion stored it (ingest.h).
#pragma once

#include "core/tensor.h"
#include "data/content.h"
#include "data/image_store.h"

#include <cstdint>
#include <filesystem>
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
  ChannelStatistics statistics;      // of the training images
  Split train;
  Split test;
  std::string warning;  // what those who use it should know (manifest.h); mostly empty
};

// The current version of the data set `name` under `data_dir`, or version V of NAME for NAME@V. Its files are compared
// with their checksums on the way in. Throws Error{data} when there is none, or when it is damaged.
Dataset load_dataset(const std::filesystem::path& data_dir, std::string_view name = "fashion-mnist");

}  // namespace lockring::data
