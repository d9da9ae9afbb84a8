#include "data/dataset.h"

#include "core/error.h"
#include "data/stored_dataset.h"

#include <utility>

namespace lockring::data {

Dataset load_dataset(const std::filesystem::path& data_dir, std::string_view name) {
  StoredDataset stored = open_dataset(data_dir, name);
  const Manifest& manifest = stored.manifest;
  const ImageSizes& sizes = manifest.sizes;
  check(sizes.one(), "the images of data set '{}' have many sizes, from {}x{} to {}x{}: they need a resize to one",
        name, sizes.least_height, sizes.least_width, sizes.most_height, sizes.most_width);
  const auto load_images = [&](std::size_t file) {
    return in_memory(as_images(read_stored_idx(stored.directory, manifest.files[file])));
  };
  return {.name = manifest.name,
          .digest = manifest.digest,
          .classes = manifest.classes,
          .statistics = manifest.statistics,
          .train = {load_images(0), stored.train.labels},
          .test = {load_images(2), stored.test.labels},
          .warning = manifest.warning};
}

}  // namespace lockring::data
