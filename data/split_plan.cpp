#include "data/split_plan.h"

#include "core/error.h"

namespace lockring::data {

SplitPlan plan_split(const Manifest& manifest, const std::string& split, const Front& front,
                     std::int64_t& memory_left) {
  const ImageSizes& sizes = manifest.sizes;
  check(
      sizes.one() || front.height > 0,
      "the images of data set '{}' have many sizes, from {}x{} to {}x{}: they need a resize to one, such as resize:64",
      manifest.name, sizes.least_height, sizes.least_width, sizes.most_height, sizes.most_width);
  const Shape image{sizes.most_height, sizes.most_width, sizes.channels};
  SplitPlan plan{.key = {.digest = manifest.digest, .split = split, .front = to_string(front)},
                 .image = front.output_shape(image)};
  plan.images = (split == "train" ? manifest.train : manifest.test).images;
  plan.bytes = plan.images * plan.image.elements();
  plan.changed = !sizes.one() || plan.image != image;
  plan.in_memory = plan.bytes <= memory_left;
  if (plan.in_memory) memory_left -= plan.bytes;
  plan.from_cache = plan.changed && (!plan.in_memory || !sizes.one());
  return plan;
}

}  // namespace lockring::data
