#include "data/batch.h"

namespace lockring::data {

Batch Batch::empty(const Shape& image, std::int64_t n, bool mixed) {
  Batch batch{.images = Tensor::empty({n, image[0], image[1], image[2]}),
              .labels = Tensor::empty({n}, DType::i32),
              .partner_labels = {},
              .weights = {}};
  if (!mixed) return batch;
  batch.partner_labels = Tensor::empty({n}, DType::i32);
  batch.weights = Tensor::empty({n});
  return batch;
}

Batch Batch::slice(std::int64_t begin, std::int64_t end) const {
  Batch part{
      .images = images.slice(begin, end), .labels = labels.slice(begin, end), .partner_labels = {}, .weights = {}};
  if (!weights.defined()) return part;
  part.partner_labels = partner_labels.slice(begin, end);
  part.weights = weights.slice(begin, end);
  return part;
}

}  // namespace lockring::data
