#include "data/fronted_images.h"

#include "core/error.h"

#include <algorithm>
#include <functional>

namespace lockring::data {
namespace {

class FrontedImages : public ImageStore {
 public:
  using Read = std::function<DecodedImage(std::int64_t)>;

  // Images that are read as [h, w, c] of `image`.
  FrontedImages(std::int64_t count, const Shape& image, const Front& front, Read read)
      : ImageStore(shape_of(count, front.output_shape(image))), front_(front), read_(std::move(read)) {}

  const std::uint8_t* image(std::int64_t index, std::uint8_t* scratch) const override {
    const Tensor pixels = front_.apply(read_(index));
    std::ranges::copy(pixels.values<std::uint8_t>(), scratch);
    return scratch;
  }
  Access access() const override { return Access::computed; }

 private:
  static Shape shape_of(std::int64_t count, const Shape& image) { return {count, image[0], image[1], image[2]}; }

  Front front_;
  Read read_;
};

}  // namespace

std::shared_ptr<const ImageStore> with_front(std::shared_ptr<const ImageStore> images, const Front& front) {
  const Shape& all = images->shape();
  const Shape image{all[1], all[2], all[3]};
  auto read = [images, image](std::int64_t index) {
    DecodedImage decoded{image[0], image[1], image[2], {}};
    decoded.pixels.resize(static_cast<std::size_t>(image.elements()));
    const std::uint8_t* pixels = images->image(index, decoded.pixels.data());
    if (pixels != decoded.pixels.data()) std::copy_n(pixels, image.elements(), decoded.pixels.data());
    return decoded;
  };
  return std::make_shared<FrontedImages>(all[0], image, front, std::move(read));
}

std::shared_ptr<const ImageStore> with_front(std::shared_ptr<const EncodedImages> images, const Front& front) {
  check(front.height > 0, "images of many sizes: expected resize:SIZE in the transform, found '{}'", to_string(front));
  return std::make_shared<FrontedImages>(images->size(), Shape{front.height, front.width, images->channels()}, front,
                                         [images](std::int64_t index) { return images->read(index); });
}

}  // namespace lockring::data
