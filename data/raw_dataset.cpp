#include "data/raw_dataset.h"

#include "core/error.h"
#include "core/text.h"

#include <algorithm>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

// Tried in this order: the first two have names of their own, and image folders may have any.
constexpr std::unique_ptr<RawDataset> (*kFormats[])(const fs::path&) = {find_idx_dataset, find_cifar_dataset,
                                                                        find_image_folder};

// The first few names in a folder, for the message.
std::string contents(const fs::path& folder) {
  constexpr std::size_t kMostNames = 4;
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  if (names.empty()) return "an empty folder";
  if (names.size() > kMostNames) {
    const std::size_t more = names.size() - kMostNames;
    names.resize(kMostNames);
    names.push_back(fmt::format("{} more", more));
  }
  return joined(names);
}

}  // namespace

void RawDataset::check_no_fraction(const SurveyOptions& options) {
  check(!options.test_fraction, "a test fraction of {} was asked for, but the source has a test set of its own",
        options.test_fraction.value_or(0));
}

std::unique_ptr<RawDataset> recognise(const fs::path& folder) {
  for (const auto find : kFormats)
    if (std::unique_ptr<RawDataset> dataset = find(folder)) return dataset;
  fail(ErrorCode::data,
       "source {}: expected four IDX files, CIFAR's .bin files, or a folder of PNG and JPEG images for each class; "
       "found {}",
       folder.string(), contents(folder));
}

}  // namespace lockring::data
