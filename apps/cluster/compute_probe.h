// What the replicas of one machine take for their own part of a step.
#pragma once

#include "models/models.h"

#include <cstdint>
#include <string>

namespace lockring::app {

struct ComputeTime {
  double step = 0;    // seconds, without the update
  double update = 0;  // the optimizer's and the gradient norm's, on all parameters
};

// The median over a time of about `seconds` in which `replicas` threads each train a model of their own, on batches of
// `images` random images: of the slowest.
ComputeTime time_compute(const models::Architecture& architecture, const models::ImageSpec& images,
                         const std::string& optimizer, std::int64_t shard, int replicas, double seconds);

}  // namespace lockring::app
