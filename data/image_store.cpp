#include "data/image_store.h"

#include "core/error.h"

#include <algorithm>

namespace lockring::data {
namespace {

class TensorImages : public ImageStore {
 public:
  explicit TensorImages(Tensor images) : ImageStore(images.shape()), images_(std::move(images)) {}

  const std::uint8_t* image(std::int64_t index, std::uint8_t*) const override {
    return images_.data<std::uint8_t>() + index * image_bytes();
  }
  Access access() const override { return Access::memory; }

 private:
  Tensor images_;
};

}  // namespace

Tensor ImageStore::copy(std::int64_t begin, std::int64_t end) const {
  Tensor copy = Tensor::empty(shape_.with_leading(end - begin), DType::u8);
  std::uint8_t* to = copy.data<std::uint8_t>();
  for (std::int64_t i = begin; i < end; ++i, to += image_bytes()) {
    const std::uint8_t* pixels = image(i, to);
    if (pixels != to) std::copy_n(pixels, image_bytes(), to);
  }
  return copy;
}

std::shared_ptr<const ImageStore> in_memory(Tensor images) {
  check(images.shape().rank() == 4 && images.dtype() == DType::u8, "images: expected u8 [n, h, w, c], found {}",
        images.shape());
  return std::make_shared<TensorImages>(std::move(images));
}

}  // namespace lockring::data
