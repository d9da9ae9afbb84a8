#include "data/dataset.h"

#include "core/error.h"
#include "data/dataset_store.h"
#include "data/fronted_images.h"
#include "data/image_cache.h"
#include "data/read_images.h"
#include "data/split_plan.h"
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
  HeldImages load_unchanged(const Stored& stored, bool in_memory) const;
  HeldImages prepare(const Stored& stored, const SplitPlan& plan);

  std::filesystem::path directory_;
  const Manifest& manifest_;
  const LoadOptions& options_;
  ImageCache cache_;
  std::int64_t memory_left_;
};

HeldImages DatasetLoader::load(const Stored& stored) {
  const SplitPlan plan = plan_split(manifest_, stored.name, options_.front, memory_left_);
  return plan.changed ? prepare(stored, plan) : load_unchanged(stored, plan.in_memory);
}

HeldImages DatasetLoader::load_unchanged(const Stored& stored, bool in_memory) const {
  if (in_memory) return {data::in_memory(as_images(read_stored_idx(directory_, stored.file))), manifest_.statistics};
  check_stored_file(directory_, stored.file);
  return {stored.split.images, manifest_.statistics};
}

HeldImages DatasetLoader::prepare(const Stored& stored, const SplitPlan& plan) {
  const ImageProgress progress = [&](std::int64_t done) {
    if (options_.progress) options_.progress(stored.name, done, plan.images);
  };
  // Images that turn out to be damaged are asked for long after this loader is gone.
  const auto source = [directory = directory_, split = stored.split, file = stored.file, front = options_.front] {
    check_stored_file(directory, file);
    return split.images != nullptr ? with_front(split.images, front) : with_front(split.encoded, front);
  };
  std::optional<HeldImages> cached;
  if (plan.from_cache) cached = cache_.find_or_make(plan.key, manifest_.name, source, progress);
  if (cached) return plan.in_memory ? hold_images(*cached->images) : *cached;
  const auto images = source();
  if (plan.in_memory) return hold_images(*images, progress);
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
