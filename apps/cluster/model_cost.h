// What of a step's cost follows from the architecture alone.
#pragma once

#include "apps/cluster/cost_model.h"
#include "models/models.h"

namespace lockring::app {

// With the model, the optimizer, the bytes and backward's share; the measured parts are not set.
CostModel model_cost(const models::Architecture& architecture, const std::string& optimizer);

// Bytes of each bucket in which training sends the gradients of an architecture, in order; none if they all go after
// the backward pass (bucket_bytes = 0).
std::vector<std::int64_t> bucket_sizes(const models::Architecture& architecture, std::int64_t bucket_bytes);

}  // namespace lockring::app
