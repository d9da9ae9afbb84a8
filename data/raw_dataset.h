// A data set as others publish it, the same for all formats: what ingestion reads. A format is a class of its own and a
// row in the table of raw_dataset.cpp.
#pragma once

#include "core/tensor.h"
#include "data/content.h"
#include "data/image_sizes.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockring::data {

// The two splits, as indices of arrays.
enum SplitIndex { kTrain, kTest };
inline constexpr std::array<SplitIndex, 2> kSplits = {kTrain, kTest};

struct SurveyOptions {
  std::int64_t most_classes = 256;  // a label of this or more is an error
  // For sources without a test set: the share of each class that becomes it, a fifth if not said, drawn with this seed.
  // Sources that have one take no fraction: Error{usage}.
  std::optional<double> test_fraction;
  std::uint64_t seed = 1;
  FileProgress progress;
  std::function<void(const std::string&)> notice;
};

// Valid during the call that hands it over.
struct RawImage {
  std::span<const std::uint8_t> pixels;  // [height][width][channels of the set]
  std::span<const std::byte> file;       // the PNG or JPEG file that it came as; empty in other formats
};
using ImageSink = std::function<void(const RawImage&)>;

// One thread at a time. Everything throws Error{data} that names the file, and the place in it.
class RawDataset {
 public:
  virtual ~RawDataset() = default;
  RawDataset(const RawDataset&) = delete;
  RawDataset& operator=(const RawDataset&) = delete;

  // All files that the data set is made from; known from the start.
  virtual std::vector<std::filesystem::path> files() const = 0;
  // Learns everything but the pixels. Reads as little as it can.
  virtual void survey(const SurveyOptions& options) = 0;
  // Hands over the images of a split in the order of its labels.
  virtual void read_images(SplitIndex split, const FileProgress& progress, const ImageSink& sink) = 0;

  // After the survey:
  const Tensor& labels(SplitIndex split) const { return labels_[split]; }  // u8 [n], n > 0
  const ImageSizes& sizes() const { return sizes_; }
  const std::vector<std::string>& classes() const { return classes_; }  // empty if the source does not name them
  // The file of the training labels, if they have one of their own.
  const std::filesystem::path& label_file() const { return label_file_; }
  // How the test images were chosen; empty if the source says which they are.
  const std::string& test_choice() const { return test_choice_; }

 protected:
  RawDataset() = default;

  // For the survey of a source that has a test set.
  static void check_no_fraction(const SurveyOptions& options);

  std::array<Tensor, 2> labels_;
  ImageSizes sizes_;
  std::vector<std::string> classes_;
  std::filesystem::path label_file_;
  std::string test_choice_;
};

// Tells the format by the files that are there. Throws Error{data} that says what was looked for if there is none.
std::unique_ptr<RawDataset> recognise(const std::filesystem::path& folder);

// The formats. Each returns null if `folder` holds nothing of it, and throws Error{data} if it holds a part of it.
//
// Four IDX files under the usual names, with any beginning; classes.txt may name the classes. `folder` may end in the
// names' beginning, where it holds several sets.
std::unique_ptr<RawDataset> find_idx_dataset(const std::filesystem::path& folder);
// The binary version of CIFAR-10 or CIFAR-100 (Krizhevsky, https://www.cs.toronto.edu/~kriz/cifar.html).
std::unique_ptr<RawDataset> find_cifar_dataset(const std::filesystem::path& folder);
// One folder of PNG and JPEG files for each class, in folders train and test or without them.
std::unique_ptr<RawDataset> find_image_folder(const std::filesystem::path& folder);

}  // namespace lockring::data
