// A data set in the memory of a replica's GPU: a step sends what its samples drew, not their pixels.
#pragma once

#include "apps/train/gpu_lane.h"
#include "core/device.h"
#include "data/dataset.h"
#include "data/transform.h"
#include "ops/prepare_images.h"

#include <cstdint>
#include <span>

namespace lockring::app {

// For one thread.
class ResidentData {
 public:
  // Whether the images fit, and the GPU can do all that the transform does to them.
  static bool suits(const data::Split& split, const data::Transform& transform, Device gpu);

  // Copies the images; `transform` must outlive it.
  ResidentData(const data::Split& split, const data::Transform& transform, Device gpu);

  // What these samples draw, in the GPU's memory.
  Tensor send_draws(GpuLane& lane, std::span<const std::uint32_t> samples, std::uint64_t seed,
                    std::int64_t epoch) const;
  // The batch that Transform::fill makes of the samples, but for rounding, as soon as the GPU comes to it.
  data::Batch prepare(const Tensor& draws) const;

 private:
  const data::Transform& transform_;
  ops::ResidentImages set_;
};

}  // namespace lockring::app
