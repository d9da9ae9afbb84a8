#include "data/front.h"

#include "core/text.h"

#include <fmt/format.h>

namespace lockring::data {

Shape Front::output_shape(const Shape& image) const {
  return {height > 0 ? height : image[0], height > 0 ? width : image[1], grayscale ? 1 : image[2]};
}

Tensor Front::apply(const DecodedImage& image) const {
  const Shape shape = output_shape({image.height, image.width, image.channels});
  return scale_to_fit(with_channels(image, shape[2]), shape[0], shape[1]);
}

std::string to_string(const Front& front) {
  std::vector<std::string> parts;
  if (front.height > 0) parts.push_back(fmt::format("resize:{}x{}", front.height, front.width));
  if (front.grayscale) parts.push_back("grayscale");
  return joined(parts, ",");
}

}  // namespace lockring::data
