#include "data/stored_images.h"

#include "core/error.h"
#include "data/idx.h"

#include <span>

namespace lockring::data {
namespace {

// What images of these sizes are as [n, h, w, c].
Shape image_shape(const Shape& shape, const std::filesystem::path& path) {
  check(shape.rank() == 3 || shape.rank() == 4, ErrorCode::data,
        "{}: expected images of sizes [n, height, width] or [n, height, width, channels], found {}", path.string(),
        to_string(shape));
  return {shape[0], shape[1], shape[2], shape.rank() == 4 ? shape[3] : 1};
}

class IdxImages : public ImageStore {
 public:
  IdxImages(const std::filesystem::path& path, const IdxReader& header)
      : ImageStore(image_shape(header.shape(), path)), file_(path), first_(header.offset()) {
    check(!header.compressed(), ErrorCode::data, "{}: expected a file that is not compressed", path.string());
    const std::int64_t expected = first_ + size() * image_bytes();
    check(file_.size() == expected, ErrorCode::data, "{}: {}: expected {} bytes (sizes {}), found {}", path.string(),
          file_.size() < expected ? "truncated" : "too long", expected, to_string(header.shape()), file_.size());
  }

  const std::uint8_t* image(std::int64_t index, std::uint8_t* scratch) const override {
    file_.read(first_ + index * image_bytes(),
               std::as_writable_bytes(std::span(scratch, static_cast<std::size_t>(image_bytes()))));
    return scratch;
  }

 private:
  RandomFile file_;
  std::int64_t first_ = 0;  // offset of the first image
};

}  // namespace

std::shared_ptr<const ImageStore> on_disk(const std::filesystem::path& idx_file) {
  return std::make_shared<IdxImages>(idx_file, IdxReader(idx_file));
}

EncodedImages::EncodedImages(const std::filesystem::path& tar_file, std::int64_t channels)
    : file_(tar_file), channels_(channels), entries_(list_tar(file_)) {}

std::vector<std::byte> EncodedImages::read_file(std::int64_t index) const {
  const TarEntry& entry = entries_[static_cast<std::size_t>(index)];
  std::vector<std::byte> bytes(static_cast<std::size_t>(entry.bytes));
  file_.read(entry.offset, bytes);
  return bytes;
}

DecodedImage EncodedImages::read(std::int64_t index) const {
  const std::vector<std::byte> bytes = read_file(index);
  try {
    return with_channels(decode_image(bytes), channels_);
  } catch (const Error& error) {
    fail(error.code(), "{}: {}: {}", file_.path().string(), entries_[static_cast<std::size_t>(index)].name,
         error.what());
  }
}

}  // namespace lockring::data
