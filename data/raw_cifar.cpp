#include "core/error.h"
#include "core/text.h"
#include "data/catalog.h"
#include "data/class_names.h"
#include "data/random_file.h"
#include "data/raw_dataset.h"

#include <algorithm>

namespace lockring::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSide = 32;
constexpr std::int64_t kPixels = kSide * kSide;
constexpr std::int64_t kColours = 3;
constexpr std::int64_t kRecordsAtOnce = 1024;

// A record is one or more bytes of labels, then the red, the green and the blue plane, row by row.
struct Layout {
  std::array<std::vector<std::string>, 2> files;  // by split
  const char* class_file;
  std::int64_t label_bytes;  // the last of them is the label
  std::int64_t classes;

  std::int64_t record_bytes() const { return label_bytes + kColours * kPixels; }
};

const std::array<Layout, 2>& layouts() {
  static const std::array<Layout, 2> both = {{
      {{{{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
         {"test_batch.bin"}}},
       "batches.meta.txt",
       1,
       10},
      {{{{"train.bin"}, {"test.bin"}}}, "fine_label_names.txt", 2, 100},
  }};
  return both;
}

class RawCifar : public RawDataset {
 public:
  RawCifar(fs::path folder, const Layout& layout) : folder_(std::move(folder)), layout_(layout) {}

  std::vector<fs::path> files() const override;
  void survey(const SurveyOptions& options) override;
  void read_images(SplitIndex split, const FileProgress& progress, const ImageSink& sink) override;

 private:
  fs::path class_file() const { return folder_ / layout_.class_file; }
  std::int64_t records(const RandomFile& file) const;
  // Appends the labels of the file's records.
  void read_labels(const std::string& name, std::vector<std::uint8_t>& labels) const;

  fs::path folder_;
  const Layout& layout_;
};

std::vector<fs::path> RawCifar::files() const {
  std::vector<fs::path> files;
  for (const std::vector<std::string>& names : layout_.files)
    for (const std::string& name : names) files.push_back(folder_ / name);
  if (fs::exists(class_file())) files.push_back(class_file());
  return files;
}

std::int64_t RawCifar::records(const RandomFile& file) const {
  const std::int64_t bytes = layout_.record_bytes();
  const std::int64_t whole = file.size() / bytes;
  check(whole > 0 && file.size() == whole * bytes, ErrorCode::data,
        "{}: expected records of {} bytes, found {} bytes: record {} (counted from 0) is truncated",
        file.path().string(), bytes, file.size(), whole);
  return whole;
}

void RawCifar::read_labels(const std::string& name, std::vector<std::uint8_t>& labels) const {
  const RandomFile file(folder_ / name);
  const std::int64_t most = classes_.empty() ? layout_.classes : std::ssize(classes_);
  const std::int64_t count = records(file);
  for (std::int64_t record = 0; record < count; ++record) {
    std::byte label{};
    const std::int64_t offset = record * layout_.record_bytes() + layout_.label_bytes - 1;
    file.read(offset, std::span(&label, 1));
    labels.push_back(std::to_integer<std::uint8_t>(label));
    check(labels.back() < most, ErrorCode::data,
          "{}: record {} (counted from 0), byte {}: expected a label from 0 to {}, found {}", file.path().string(),
          record, offset, most - 1, labels.back());
  }
}

void RawCifar::survey(const SurveyOptions& options) {
  check_no_fraction(options);
  if (fs::exists(class_file())) {
    classes_ = read_class_names(class_file());
    check(std::ssize(classes_) == layout_.classes, ErrorCode::data, "{}: expected {} classes, found {}",
          class_file().string(), layout_.classes, classes_.size());
  } else if (const KnownDataset* known = find_known_dataset("cifar-10");
             std::ssize(known->classes) == layout_.classes) {
    classes_ = known->classes;
  }
  for (const SplitIndex split : kSplits) {
    std::vector<std::uint8_t> labels;
    for (const std::string& name : layout_.files[split]) read_labels(name, labels);
    labels_[split] = Tensor::from(std::span<const std::uint8_t>(labels), {std::ssize(labels)});
  }
  sizes_.add(kSide, kSide, kColours);
}

// Planes to interleaved colours.
void interleave(const std::byte* planes, std::uint8_t* pixels) {
  for (std::int64_t i = 0; i < kPixels; ++i)
    for (std::int64_t c = 0; c < kColours; ++c)
      pixels[i * kColours + c] = std::to_integer<std::uint8_t>(planes[c * kPixels + i]);
}

void RawCifar::read_images(SplitIndex split, const FileProgress& progress, const ImageSink& sink) {
  const std::int64_t bytes = layout_.record_bytes();
  std::vector<std::byte> buffer(static_cast<std::size_t>(kRecordsAtOnce * bytes));
  std::vector<std::uint8_t> pixels(kColours * kPixels);
  std::int64_t label = 0;
  for (const std::string& name : layout_.files[split]) {
    const RandomFile file(folder_ / name);
    const std::int64_t count = records(file);
    for (std::int64_t begin = 0; begin < count; begin += kRecordsAtOnce) {
      const std::int64_t some = std::min(kRecordsAtOnce, count - begin);
      file.read(begin * bytes, std::span(buffer).first(static_cast<std::size_t>(some * bytes)));
      for (std::int64_t i = 0; i < some; ++i, ++label) {
        const std::byte* record = buffer.data() + i * bytes;
        check(label < labels_[split].size(0) && std::to_integer<std::uint8_t>(record[layout_.label_bytes - 1]) ==
                                                    labels_[split].data<std::uint8_t>()[label],
              ErrorCode::data, "{}: changed while it was read, at record {}", file.path().string(), begin + i);
        interleave(record + layout_.label_bytes, pixels.data());
        sink({pixels, {}});
      }
      if (progress) progress(name, (begin + some) * bytes, file.size());
    }
  }
}

}  // namespace

std::unique_ptr<RawDataset> find_cifar_dataset(const fs::path& folder) {
  for (const Layout& layout : layouts()) {
    std::vector<std::string> missing;
    std::size_t found = 0;
    for (const std::vector<std::string>& names : layout.files)
      for (const std::string& name : names)
        if (fs::is_regular_file(folder / name))
          ++found;
        else
          missing.push_back(name);
    if (found == 0) continue;
    check(missing.empty(), ErrorCode::data, "source {}: missing {}", folder.string(), joined(missing));
    return std::make_unique<RawCifar>(folder, layout);
  }
  return nullptr;
}

}  // namespace lockring::data
