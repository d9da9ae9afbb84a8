#include "data/dataset.h"

#include "data/dataset_store.h"

namespace lockring::data {

Dataset load_dataset(const std::filesystem::path& data_dir, std::string_view name) {
  const std::filesystem::path directory = current_version(data_dir, name);
  const Manifest manifest = read_manifest(directory);
  Content content = read_stored(directory, manifest);
  return {manifest.name,
          manifest.digest,
          manifest.classes,
          manifest.statistics,
          {in_memory(as_images(content[0])), content[1]},
          {in_memory(as_images(content[2])), content[3]}};
}

}  // namespace lockring::data
