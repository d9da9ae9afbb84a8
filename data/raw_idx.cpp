#include "core/error.h"
#include "core/text.h"
#include "data/class_names.h"
#include "data/idx.h"
#include "data/raw_dataset.h"

#include <algorithm>
#include <map>
#include <regex>
#include <utility>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostChannels = 4;  // colours and alpha
constexpr std::int64_t kChunkBytes = std::int64_t{4} << 20;

// Swapped files are the likely mistake, so the messages ask about that first.
void check_images(const Shape& shape, const fs::path& path) {
  check(shape.rank() != 1, ErrorCode::data, "{}: expected images (3 or 4 dimensions), found labels (1): swapped files?",
        path.string());
  check(shape.rank() == 3 || (shape.rank() == 4 && shape[3] <= kMostChannels), ErrorCode::data,
        "{}: expected images of sizes [n, height, width] or [n, height, width, up to {} channels], found {}",
        path.string(), kMostChannels, to_string(shape));
}

// Later, a label out of range would be a wrong address in a kernel, far from the file that holds it.
void check_labels(const Tensor& labels, std::int64_t classes, const fs::path& path) {
  check(labels.rank() == 1, ErrorCode::data, "{}: expected labels (1 dimension), found {} dimensions: swapped files?",
        path.string(), labels.rank());
  const std::span<const std::uint8_t> values = labels.values<std::uint8_t>();
  const auto wrong = std::ranges::find_if(values, [classes](std::uint8_t label) { return label >= classes; });
  if (wrong == values.end()) return;
  fail(ErrorCode::data, "{}: label {} (counted from 0): expected 0 to {}, found {}", path.string(),
       wrong - values.begin(), classes - 1, *wrong);
}

class RawIdx : public RawDataset {
 public:
  RawIdx(FilePaths paths, fs::path class_file) : paths_(std::move(paths)), class_file_(std::move(class_file)) {
    label_file_ = labels_of(kTrain);
  }

  std::vector<fs::path> files() const override;
  void survey(const SurveyOptions& options) override;
  void read_images(SplitIndex split, const FileProgress& progress, const ImageSink& sink) override;

 private:
  const fs::path& images(SplitIndex split) const { return paths_[2 * split]; }
  const fs::path& labels_of(SplitIndex split) const { return paths_[2 * split + 1]; }
  void check_counts() const;

  FilePaths paths_;
  fs::path class_file_;          // empty if there is none
  std::array<Shape, 2> shapes_;  // as in the headers
};

std::vector<fs::path> RawIdx::files() const {
  std::vector<fs::path> files(paths_.begin(), paths_.end());
  if (!class_file_.empty()) files.push_back(class_file_);
  return files;
}

void RawIdx::survey(const SurveyOptions& options) {
  check_no_fraction(options);
  if (!class_file_.empty()) classes_ = read_class_names(class_file_);
  const std::int64_t most = classes_.empty() ? options.most_classes : std::ssize(classes_);
  for (const SplitIndex split : kSplits) {
    shapes_[split] = IdxReader(images(split)).shape();
    check_images(shapes_[split], images(split));
    labels_[split] = read_idx(labels_of(split));
    check_labels(labels_[split], most, labels_of(split));
  }
  check_counts();
  const Shape& shape = shapes_[kTrain];
  sizes_.add(shape[1], shape[2], shape.rank() == 4 ? shape[3] : 1);
}

// What no file shows on its own.
void RawIdx::check_counts() const {
  for (const SplitIndex split : kSplits)
    check(shapes_[split][0] == labels_[split].size(0), ErrorCode::data,
          "{} has {} images but {} has {} labels: files of different sets?", images(split).string(), shapes_[split][0],
          labels_of(split).string(), labels_[split].size(0));
  const Shape& train = shapes_[kTrain];
  const Shape& test = shapes_[kTest];
  check(train.with_leading(1) == test.with_leading(1), ErrorCode::data, "{} has images of sizes {} but {} of {}",
        images(kTrain).string(), to_string(train), images(kTest).string(), to_string(test));
  check(train[0] >= test[0], ErrorCode::data,
        "{} has {} images, fewer than the {} of {}: training and test files swapped?", images(kTrain).string(),
        train[0], test[0], images(kTest).string());
}

void RawIdx::read_images(SplitIndex split, const FileProgress& progress, const ImageSink& sink) {
  IdxReader reader(images(split));
  const Shape& shape = reader.shape();
  check(shape == shapes_[split], ErrorCode::data, "{}: changed while it was read: expected sizes {}, found {}",
        images(split).string(), to_string(shapes_[split]), to_string(shape));
  const std::int64_t image_bytes = shape.elements() / shape[0];
  const std::int64_t at_once = std::clamp<std::int64_t>(kChunkBytes / image_bytes, 1, shape[0]);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(at_once * image_bytes));
  const std::string name = images(split).filename().string();
  for (std::int64_t begin = 0; begin < shape[0]; begin += at_once) {
    const std::int64_t count = std::min(at_once, shape[0] - begin);
    const std::span chunk = std::span(pixels).first(static_cast<std::size_t>(count * image_bytes));
    reader.read(chunk);
    for (std::int64_t i = 0; i < count; ++i)
      sink({chunk.subspan(static_cast<std::size_t>(i * image_bytes), static_cast<std::size_t>(image_bytes)), {}});
    if (progress) progress(name, (begin + count) * image_bytes, shape.elements());
  }
  reader.finish();
}

// The index in FilePaths of a file's kind, and the beginning of its name that tells sets in one folder apart.
struct IdxName {
  std::size_t index = 0;
  std::string set;
};

// Publishers write "train-images-idx3-ubyte", "train-images.idx3-ubyte" or "emnist-balanced-test-images-idx3-ubyte".
std::optional<IdxName> parse_name(const std::string& name) {
  static const std::regex pattern(R"((.*?)(train|t10k|test)-(images|labels)[-.]idx[1-4]-ubyte(\.gz)?)");
  std::smatch match;
  if (!std::regex_match(name, match, pattern)) return std::nullopt;
  return IdxName{(match[2] == "train" ? 0u : 2u) + (match[3] == "images" ? 0u : 1u), match[1]};
}

// By the beginnings of their names. Of a file that is there twice, the plain one comes before the compressed one.
std::map<std::string, FilePaths> idx_sets(const fs::path& folder, const std::string& beginning) {
  std::map<std::string, FilePaths> sets;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::optional<IdxName> name = parse_name(entry.path().filename().string());
    if (!name || !name->set.starts_with(beginning) || !entry.is_regular_file()) continue;
    fs::path& path = sets[name->set][name->index];
    const auto rank = [](const fs::path& file) { return std::pair(file.extension() == ".gz", file.string()); };
    if (path.empty() || rank(entry.path()) < rank(path)) path = entry.path();
  }
  return sets;
}

}  // namespace

std::unique_ptr<RawDataset> find_idx_dataset(const fs::path& path) {
  const bool whole_folder = fs::is_directory(path);
  const fs::path folder = whole_folder ? path : path.parent_path();
  if (!fs::is_directory(folder)) return nullptr;
  const std::map<std::string, FilePaths> sets = idx_sets(folder, whole_folder ? "" : path.filename().string());
  if (sets.empty()) return nullptr;
  const auto& [set, files] = *sets.begin();
  check(sets.size() == 1, ErrorCode::data, "source {}: holds several sets, '{}...' and '{}...': name one, as in {}",
        path.string(), set, sets.rbegin()->first, (folder / sets.rbegin()->first).string());
  std::vector<std::string> missing;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (files[i].empty()) missing.push_back(set + std::string(kFileNames[i]));
  check(missing.empty(), ErrorCode::data, "source {}: missing {} (plain or with .gz)", path.string(), joined(missing));
  const fs::path class_file = folder / kClassFile;
  return std::make_unique<RawIdx>(files, fs::exists(class_file) ? class_file : fs::path());
}

}  // namespace lockring::data
