#include "data/dataset.h"

#include "core/error.h"
#include "data/dataset_store.h"
#include "data/fronted_images.h"
#include "data/image_cache.h"
#include "data/read_images.h"
#include "data/stored_dataset.h"

#include <mutex>
#include <optional>
#include <utility>

namespace lockring::data {
namespace {

// One at a time, whichever thread has something to say.
std::function<void(const std::string&)> in_turn(std::function<void(const std::string&)> notice) {
  if (!notice) return {};
  return [notice = std::move(notice), mutex = std::make_shared<std::mutex>()](const std::string& text) {
    const std::lock_guard lock(*mutex);
    notice(text);
  };
}

// A split as it is stored.
struct Stored {
  std::string name;
  const StoredSplit& split;
  const StoredFile& file;  // of the images
};

class DatasetLoader {
 public:
  DatasetLoader(const StoredDataset& stored, const LoadOptions& options)
      : directory_(stored.directory),
        manifest_(stored.manifest),
        options_(options),
        cache_({options.cache_dir, in_turn(options.notice)}),
        memory_left_(options.memory) {}

  HeldImages load(const Stored& stored);

 private:
  HeldImages load_unchanged(const Stored& stored, bool in_memory);
  HeldImages prepare(const Stored& stored, bool in_memory);

  std::filesystem::path directory_;
  const Manifest& manifest_;
  const LoadOptions& options_;
  ImageCache cache_;
  std::int64_t memory_left_;
};

HeldImages DatasetLoader::load(const Stored& stored) {
  const ImageSizes& sizes = manifest_.sizes;
  const Shape image{sizes.most_height, sizes.most_width, sizes.channels};
  const Shape changed = options_.front.output_shape(image);
  check(sizes.one() || options_.front.height > 0,
        "the images of data set '{}' have many sizes, from {}x{} to {}x{}: they need a resize to one", manifest_.name,
        sizes.least_height, sizes.least_width, sizes.most_height, sizes.most_width);
  const std::int64_t bytes = stored.split.labels.size(0) * changed.elements();
  const bool in_memory = bytes <= memory_left_;
  if (in_memory) memory_left_ -= bytes;
  return sizes.one() && changed == image ? load_unchanged(stored, in_memory) : prepare(stored, in_memory);
}

HeldImages DatasetLoader::load_unchanged(const Stored& stored, bool in_memory) {
  if (in_memory) return {data::in_memory(as_images(read_stored_idx(directory_, stored.file))), manifest_.statistics};
  check_stored_file(directory_, stored.file);
  return {stored.split.images, manifest_.statistics};
}

// Pixels are quickly changed, files take long to decode: those go through the cache even on their way into memory.
HeldImages DatasetLoader::prepare(const Stored& stored, bool in_memory) {
  const ImageProgress progress = [&](std::int64_t done) {
    if (options_.progress) options_.progress(stored.name, done, stored.split.labels.size(0));
  };
  // Images that turn out to be damaged are asked for long after this loader is gone.
  const auto source = [directory = directory_, split = stored.split, file = stored.file, front = options_.front] {
    check_stored_file(directory, file);
    return split.images != nullptr ? with_front(split.images, front) : with_front(split.encoded, front);
  };
  std::optional<HeldImages> cached;
  if (!in_memory || stored.split.encoded != nullptr) {
    const CacheKey key{.digest = manifest_.digest, .split = stored.name, .front = to_string(options_.front)};
    cached = cache_.find_or_make(key, manifest_.name, source, progress);
  }
  if (cached) return in_memory ? hold_images(*cached->images) : *cached;
  const auto images = source();
  if (in_memory) return hold_images(*images, progress);
  return {images, stored.name == "train" ? read_images(
                                               *images, [](auto) {}, progress)
                                         : ChannelStatistics()};
}

}  // namespace

Dataset load_dataset(const std::filesystem::path& data_dir, std::string_view name, const LoadOptions& options) {
  const StoredDataset stored = open_dataset(data_dir, name);
  const Manifest& manifest = stored.manifest;
  Dataset dataset{.name = manifest.name,
                  .digest = manifest.digest,
                  .classes = manifest.classes,
                  .statistics = {},
                  .train = {nullptr, stored.train.labels},
                  .test = {nullptr, stored.test.labels},
                  .warning = manifest.warning};
  DatasetLoader loader(stored, options);
  if (options.train) {
    HeldImages train = loader.load({"train", stored.train, manifest.files[0]});
    dataset.train.images = std::move(train.images);
    dataset.statistics = std::move(train.statistics);
  }
  if (options.test) dataset.test.images = loader.load({"test", stored.test, manifest.files[2]}).images;
  return dataset;
}

}  // namespace lockring::data
