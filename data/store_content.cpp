#include "data/store_content.h"

#include "core/error.h"
#include "core/files.h"
#include "data/channel_histogram.h"
#include "data/class_names.h"
#include "data/hashed_file.h"
#include "data/idx.h"
#include "data/tar.h"

#include <array>

namespace lockring::data {
namespace {

constexpr std::array<const char*, 2> kPrefixes = {"train", "t10k"};

void write_zeros(HashedFile& file, std::int64_t bytes) {
  file.write(std::string(static_cast<std::size_t>(bytes), '\0'));
}

// A number and not the original name, which may be anything and long; the order is what counts.
void write_tar_entry(HashedFile& file, std::span<const std::byte> image, const std::string& folder,
                     std::int64_t index) {
  const bool png = !image.empty() && image[0] == std::byte{0x89};
  const auto bytes = static_cast<std::int64_t>(image.size());
  file.write(tar_header(folder, fmt::format("{:08}.{}", index, png ? "png" : "jpg"), bytes));
  file.write(image);
  write_zeros(file, tar_padding(bytes));
}

// One split's images, and then its labels.
class SplitWriter {
 public:
  SplitWriter(RawDataset& raw, SplitIndex split, const std::filesystem::path& folder, Sha256& digest)
      : raw_(raw), split_(split), folder_(folder), digest_(digest) {}

  StoredFile write_images(ChannelHistogram& histogram, const FileProgress& progress);
  StoredFile write_labels();

 private:
  std::string file_name(const char* kind) const { return fmt::format("{}-{}", kPrefixes[split_], kind); }

  RawDataset& raw_;
  SplitIndex split_;
  std::filesystem::path folder_;
  Sha256& digest_;
};

StoredFile SplitWriter::write_images(ChannelHistogram& histogram, const FileProgress& progress) {
  const ImageSizes& sizes = raw_.sizes();
  const Tensor& labels = raw_.labels(split_);
  const bool grey = sizes.channels == 1;
  const std::string name = file_name(!sizes.one() ? "images.tar" : grey ? "images-idx3-ubyte" : "images-idx4-ubyte");
  HashedFile file(folder_ / name, digest_);
  const std::int64_t count = labels.size(0);
  const Shape colour{count, sizes.most_height, sizes.most_width, sizes.channels};
  if (sizes.one()) file.write(idx_header(grey ? Shape{count, sizes.most_height, sizes.most_width} : colour));
  std::int64_t index = 0;
  raw_.read_images(split_, progress, [&](const RawImage& image) {
    histogram.add(image.pixels);
    if (sizes.one())
      file.write(std::as_bytes(image.pixels));
    else
      write_tar_entry(file, image.file, raw_.classes()[labels.data<std::uint8_t>()[index]], index);
    ++index;
  });
  check(index == count, ErrorCode::data, "the source changed while it was read: expected {} images, found {}", count,
        index);
  if (!sizes.one()) write_zeros(file, kTarEnd);
  return {name, file.bytes(), file.commit()};
}

StoredFile SplitWriter::write_labels() {
  const Tensor& labels = raw_.labels(split_);
  const std::string name = file_name("labels-idx1-ubyte");
  HashedFile file(folder_ / name, digest_);
  file.write(idx_header(labels.shape()));
  file.write(std::as_bytes(labels.values<std::uint8_t>()));
  return {name, file.bytes(), file.commit()};
}

}  // namespace

StoredContent store_content(RawDataset& raw, const std::filesystem::path& folder, const FileProgress& progress) {
  StoredContent content;
  Sha256 digest;
  for (const SplitIndex split : kSplits) {
    ChannelHistogram histogram(raw.sizes().channels);
    SplitWriter writer(raw, split, folder, digest);
    content.files.push_back(writer.write_images(histogram, progress));
    content.files.push_back(writer.write_labels());
    if (split == kTrain) content.statistics = histogram.statistics();
  }
  content.digest = digest.hex();
  return content;
}

StoredFile store_class_names(const std::filesystem::path& folder, const std::vector<std::string>& names) {
  const std::string text = class_file_text(names);
  write_file(folder / kClassFile, text);
  return {kClassFile, std::ssize(text), sha256(text)};
}

}  // namespace lockring::data
