#include "apps/cluster/model_cost.h"

#include "apps/train/gradient_segments.h"
#include "distributed/buckets.h"
#include "nn/model.h"

namespace lockring::app {

CostModel model_cost(const models::Architecture& architecture, const std::string& optimizer) {
  const models::ImageSpec images;
  const nn::Model model(architecture.build(images), 1);
  CostModel cost;
  cost.model = architecture.name;
  cost.optimizer = optimizer;
  cost.bytes = model.layout().elements() * 4;
  const auto forward = static_cast<double>(models::multiply_adds(architecture, images));
  const auto first = static_cast<double>(models::first_layer_multiply_adds(architecture, images));
  cost.backward_share = (2 * forward - first) / (3 * forward - first);
  return cost;
}

std::vector<std::int64_t> bucket_sizes(const models::Architecture& architecture, std::int64_t bucket_bytes) {
  std::vector<std::int64_t> sizes;
  if (bucket_bytes == 0) return sizes;
  const nn::Model model(architecture.build({}), 1);
  for (const dist::Slice& bucket : dist::cut_buckets(gradient_segments(model.layout()), bucket_bytes))
    sizes.push_back(bucket.size() * 4);
  return sizes;
}

}  // namespace lockring::app
