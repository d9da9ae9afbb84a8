// Random access to the images of a split, wherever they lie.
#pragma once

#include "core/tensor.h"

#include <cstdint>
#include <memory>

namespace lockring::data {

// What it takes to look at an image: nothing, a read, or work.
enum class Access { memory, disk, computed };

// Images of bytes, all of one size. Never changed while it is used; any number of threads may read it.
class ImageStore {
 public:
  virtual ~ImageStore() = default;
  ImageStore(const ImageStore&) = delete;
  ImageStore& operator=(const ImageStore&) = delete;

  // [n, h, w, c]
  const Shape& shape() const { return shape_; }
  std::int64_t size() const { return shape_[0]; }
  std::int64_t image_bytes() const { return shape_[1] * shape_[2] * shape_[3]; }

  // The pixels [h, w, c] of image `index`, which must be below size(): where the store keeps them, or read to
  // `scratch`, image_bytes() of the caller's. Throws Error{data} if they cannot be read.
  virtual const std::uint8_t* image(std::int64_t index, std::uint8_t* scratch) const = 0;
  virtual Access access() const { return Access::disk; }
  // A copy of the images [begin, end): u8 [end - begin, h, w, c].
  Tensor copy(std::int64_t begin, std::int64_t end) const;

 protected:
  explicit ImageStore(const Shape& shape) : shape_(shape) {}

 private:
  Shape shape_;
};

// `images`: u8 [n, h, w, c], shared.
std::shared_ptr<const ImageStore> in_memory(Tensor images);

}  // namespace lockring::data
