#include "data/content.h"

namespace lockring::data {

Tensor as_images(const Tensor& values) {
  if (values.rank() == 4) return values;
  return values.view({values.size(0), values.size(1), values.size(2), 1});
}

std::vector<std::int64_t> count_labels(const Tensor& labels, std::size_t classes) {
  std::vector<std::int64_t> counts(classes);
  for (const std::uint8_t label : labels.values<std::uint8_t>()) ++counts[label];
  return counts;
}

}  // namespace lockring::data
