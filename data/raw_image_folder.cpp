#include "core/cpu.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "data/class_names.h"
#include "data/image_file.h"
#include "data/image_listing.h"
#include "data/parallel.h"
#include "data/raw_dataset.h"
#include "data/sampler.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <utility>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

constexpr double kTestFraction = 0.2;
// Where the header of nearly every image ends; the others are read whole.
constexpr std::size_t kHeaderBytes = std::size_t{64} << 10;
// What is decoded at once: many small images, few large ones.
constexpr std::size_t kMostAtOnce = 256;
constexpr std::int64_t kMostBytesAtOnce = std::int64_t{64} << 20;

// In the order in which they are looked for; the first that is there is the test set.
constexpr const char* kTestFolders[] = {"test", "val", "valid", "validation"};

struct ImageEntry {
  fs::path path;
  std::uint8_t label = 0;
  std::int64_t bytes = 0;
  ImageHeader header;  // after the survey
};

using Entries = std::vector<ImageEntry>;

// Calls `work` with the path's errors named.
template <class Work>
auto for_file(const fs::path& path, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", path.string(), error.what());
  }
}

ImageHeader header_of(const fs::path& path) {
  std::string start(kHeaderBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  try {
    return read_image_header(std::as_bytes(std::span(start)));
  } catch (const Error&) {
    // Cut off in the middle, or unreadable, or damaged: the whole file tells.
    const std::string whole = read_file(path);
    return for_file(path, [&] { return read_image_header(std::as_bytes(std::span(whole))); });
  }
}

void append(Entries& entries, const std::vector<fs::path>& images, std::size_t label) {
  for (const fs::path& path : images)
    entries.push_back({path, static_cast<std::uint8_t>(label), static_cast<std::int64_t>(fs::file_size(path)), {}});
}

// One report after another of how many bytes of the files are done.
class EntryProgress {
 public:
  EntryProgress(const FileProgress& progress, std::string what, const Entries& entries)
      : progress_(progress), what_(std::move(what)) {
    for (const ImageEntry& entry : entries) total_ += entry.bytes;
  }
  void add(std::span<const ImageEntry> entries) {
    for (const ImageEntry& entry : entries) done_ += entry.bytes;
    if (progress_) progress_(what_, done_, total_);
  }

 private:
  const FileProgress& progress_;
  std::string what_;
  std::int64_t done_ = 0;
  std::int64_t total_ = 0;
};

Tensor labels_of(const Entries& entries) {
  Tensor labels = Tensor::empty({std::ssize(entries)}, DType::u8);
  std::ranges::transform(entries, labels.data<std::uint8_t>(), &ImageEntry::label);
  return labels;
}

class RawImageFolder : public RawDataset {
 public:
  RawImageFolder(const fs::path& folder, std::vector<std::string> classes);

  bool has_images() const { return !entries_[kTrain].empty(); }
  std::vector<fs::path> files() const override;
  void survey(const SurveyOptions& options) override;
  void read_images(SplitIndex split, const FileProgress& progress, const ImageSink& sink) override;

 private:
  void list_training_images(const fs::path& folder);
  void list_test_images(const fs::path& folder);
  Holdout held_out(double fraction, std::uint64_t seed) const;
  void choose_test_images(const SurveyOptions& options);
  void read_headers(Entries& entries, const FileProgress& progress);

  fs::path folder_;
  std::array<Entries, 2> entries_;
  bool has_test_ = false;
  IgnoredFiles ignored_;
  std::vector<std::string> unused_;  // folders that could be a test set, but another is
};

RawImageFolder::RawImageFolder(const fs::path& folder, std::vector<std::string> classes) : folder_(folder) {
  classes_ = std::move(classes);
  check_class_names(classes_, folder.string());
  const bool parted = fs::is_directory(folder / "train");
  list_training_images(parted ? folder / "train" : folder);
  if (!parted) return;
  for (const char* name : kTestFolders) {
    if (!fs::is_directory(folder / name)) continue;
    if (has_test_)
      unused_.emplace_back(name);
    else
      list_test_images(folder / name);
    has_test_ = true;
  }
}

void RawImageFolder::list_training_images(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (has_image_name(entry.path()) && !entry.is_directory()) ignored_.add(entry.path());
  std::vector<std::string> empty;
  for (std::size_t label = 0; label < classes_.size(); ++label) {
    const std::vector<fs::path> images = list_images(folder / classes_[label], ignored_);
    if (images.empty()) empty.push_back((folder / classes_[label]).string());
    append(entries_[kTrain], images, label);
  }
  // Without any image at all it is no image folder.
  check(empty.empty() || !has_images(), ErrorCode::data,
        "{}: expected PNG or JPEG images of this class, found none: remove the folder, or is it not a class?",
        joined(empty));
}

void RawImageFolder::list_test_images(const fs::path& folder) {
  std::map<std::string, std::vector<fs::path>> images;
  for (const std::string& name : class_folders(folder)) {
    images[name] = list_images(folder / name, ignored_);
    check(std::ranges::count(classes_, name) > 0 || images[name].empty(), ErrorCode::data,
          "{}: a class of {} test images that has no training images: expected one of {}{}", (folder / name).string(),
          images[name].size(), joined(classes_), did_you_mean(name, classes_));
  }
  for (std::size_t label = 0; label < classes_.size(); ++label) append(entries_[kTest], images[classes_[label]], label);
  check(!entries_[kTest].empty(), ErrorCode::data,
        "{}: expected PNG or JPEG images in a folder for each class, found none; without this folder, a part of the "
        "training images is the test set",
        folder.string());
}

std::vector<fs::path> RawImageFolder::files() const {
  std::vector<fs::path> files;
  for (const Entries& entries : entries_)
    for (const ImageEntry& entry : entries) files.push_back(entry.path);
  return files;
}

void RawImageFolder::survey(const SurveyOptions& options) {
  if (options.notice) {
    if (ignored_.count > 0)
      options.notice(
          fmt::format("{} files are ignored: not PNG or JPEG by their names, or in no class; the first is {}",
                      ignored_.count, ignored_.first.string()));
    if (!unused_.empty()) options.notice(fmt::format("{}: not used: {}", folder_.string(), joined(unused_)));
  }
  if (has_test_)
    check_no_fraction(options);
  else
    choose_test_images(options);
  for (const SplitIndex split : kSplits) {
    labels_[split] = labels_of(entries_[split]);
    read_headers(entries_[split], options.progress);
  }
}

Holdout RawImageFolder::held_out(double fraction, std::uint64_t seed) const {
  try {
    return stratified_holdout(labels_of(entries_[kTrain]), fraction, seed);
  } catch (const Error&) {
    fail(ErrorCode::usage, "{} has no test set, and a test fraction of {} holds out none of its {} images",
         folder_.string(), fraction, entries_[kTrain].size());
  }
}

void RawImageFolder::choose_test_images(const SurveyOptions& options) {
  const double fraction = options.test_fraction.value_or(kTestFraction);
  check(fraction > 0 && fraction < 1, "a test fraction of {} is not possible: above 0 and below 1", fraction);
  const Holdout holdout = held_out(fraction, options.seed);
  Entries train;
  for (const std::uint32_t i : holdout.train) train.push_back(std::move(entries_[kTrain][i]));
  for (const std::uint32_t i : holdout.validation) entries_[kTest].push_back(std::move(entries_[kTrain][i]));
  entries_[kTrain] = std::move(train);
  test_choice_ = fmt::format("a share of {} of each class, drawn with seed {}", fraction, options.seed);
  if (options.notice)
    options.notice(fmt::format("{} has no test set: held out as one is {}", folder_.string(), test_choice_));
}

void RawImageFolder::read_headers(Entries& entries, const FileProgress& progress) {
  EntryProgress report(progress, "image headers", entries);
  for (std::size_t begin = 0; begin < entries.size(); begin += kMostAtOnce) {
    const std::span some = std::span(entries).subspan(begin, std::min(kMostAtOnce, entries.size() - begin));
    in_parallel(std::ssize(some), usable_cores(), [&](std::int64_t i) {
      ImageEntry& entry = some[static_cast<std::size_t>(i)];
      entry.header = header_of(entry.path);
    });
    for (const ImageEntry& entry : some) sizes_.add(entry.header.height, entry.header.width, entry.header.channels);
    report.add(some);
  }
}

// As many of the first entries as are decoded at once.
std::span<const ImageEntry> first_part(std::span<const ImageEntry> entries, std::int64_t channels) {
  std::int64_t bytes = 0;
  std::size_t count = 0;
  while (count < std::min(entries.size(), kMostAtOnce) && (count == 0 || bytes < kMostBytesAtOnce)) {
    const ImageHeader& header = entries[count++].header;
    bytes += header.height * header.width * channels;
  }
  return entries.first(count);
}

void RawImageFolder::read_images(SplitIndex split, const FileProgress& progress, const ImageSink& sink) {
  struct Loaded {
    std::string file;
    DecodedImage image;
  };
  const std::span<const ImageEntry> entries = entries_[split];
  EntryProgress report(progress, split == kTrain ? "training images" : "test images", entries_[split]);
  for (std::size_t done = 0; done < entries.size();) {
    const std::span<const ImageEntry> part = first_part(entries.subspan(done), sizes_.channels);
    std::vector<Loaded> loaded(part.size());
    in_parallel(std::ssize(part), usable_cores(), [&](std::int64_t i) {
      const ImageEntry& entry = part[static_cast<std::size_t>(i)];
      Loaded& one = loaded[static_cast<std::size_t>(i)];
      one.file = read_file(entry.path);
      one.image = for_file(entry.path, [&] { return decode_image(std::as_bytes(std::span(one.file))); });
      check(one.image.height == entry.header.height && one.image.width == entry.header.width &&
                one.image.channels <= sizes_.channels,
            ErrorCode::data, "{}: changed while it was read", entry.path.string());
      one.image = with_channels(std::move(one.image), sizes_.channels);
    });
    for (const Loaded& one : loaded) sink({one.image.pixels, std::as_bytes(std::span(one.file))});
    done += part.size();
    report.add(part);
  }
}

}  // namespace

std::unique_ptr<RawDataset> find_image_folder(const fs::path& folder) {
  if (!fs::is_directory(folder)) return nullptr;
  const bool parted = fs::is_directory(folder / "train");
  check(parted || !fs::is_directory(folder / "test"), ErrorCode::data,
        "source {}: expected a folder train beside test, found none", folder.string());
  const fs::path training = parted ? folder / "train" : folder;
  std::vector<std::string> classes = class_folders(training);
  if (classes.empty()) {
    for (const fs::directory_entry& entry : fs::directory_iterator(training))
      check(!has_image_name(entry.path()), ErrorCode::data,
            "source {}: expected a folder of images for each class, found the image {} outside of one", folder.string(),
            entry.path().filename().string());
    return nullptr;
  }
  auto dataset = std::make_unique<RawImageFolder>(folder, std::move(classes));
  return dataset->has_images() ? std::move(dataset) : nullptr;
}

}  // namespace lockring::data
