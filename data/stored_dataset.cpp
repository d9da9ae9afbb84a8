#include "data/stored_dataset.h"

#include "core/error.h"
#include "core/files.h"
#include "data/dataset_store.h"
#include "data/idx.h"

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

StoredSplit open_split(const fs::path& directory, const Manifest& manifest, const SplitCounts& counts,
                       std::size_t first_file) {
  const fs::path path = directory / manifest.files[first_file].name;
  const StoredFile& label_file = manifest.files[first_file + 1];
  const ImageSizes& sizes = manifest.sizes;
  StoredSplit split;
  split.labels = read_stored_idx(directory, label_file);
  check(split.labels.shape() == Shape{counts.images}, ErrorCode::data, "{}: expected {} labels, found {}",
        (directory / label_file.name).string(), counts.images, to_string(split.labels.shape()));
  if (sizes.one()) {
    split.images = on_disk(path);
    const Shape expected{counts.images, sizes.most_height, sizes.most_width, sizes.channels};
    check(split.images->shape() == expected, ErrorCode::data, "{}: expected images {}, found {}", path.string(),
          to_string(expected), to_string(split.images->shape()));
  } else {
    split.encoded = std::make_shared<EncodedImages>(path, sizes.channels);
    check(split.encoded->size() == counts.images, ErrorCode::data, "{}: expected {} images, found {}", path.string(),
          counts.images, split.encoded->size());
  }
  return split;
}

}  // namespace

Tensor read_stored_idx(const fs::path& directory, const StoredFile& file) {
  const fs::path path = directory / file.name;
  Tensor values = read_idx(path);
  Sha256 checksum;
  checksum.update(idx_header(values.shape()));
  checksum.update(std::as_bytes(values.values<std::uint8_t>()));
  const std::string found = checksum.hex();
  check(found == file.checksum, ErrorCode::data, "{}: damaged: expected SHA-256 {}, found {}", path.string(),
        file.checksum, found);
  return values;
}

StoredDataset open_dataset(const fs::path& data_dir, std::string_view name) {
  StoredDataset dataset;
  dataset.directory = find_version(data_dir, name);
  dataset.manifest = read_manifest(dataset.directory);
  dataset.train = open_split(dataset.directory, dataset.manifest, dataset.manifest.train, 0);
  dataset.test = open_split(dataset.directory, dataset.manifest, dataset.manifest.test, 2);
  return dataset;
}

}  // namespace lockring::data
