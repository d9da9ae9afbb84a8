// Exact evaluation of a model: integer counts, and sums in one order, whatever the number of threads.
#pragma once

#include "data/dataset.h"
#include "data/transform.h"
#include "distributed/replica_team.h"
#include "nn/model.h"

#include <cstdint>
#include <span>
#include <vector>

namespace lockring::app {

struct Evaluation {
  std::int64_t count = 0;
  std::int64_t correct = 0;
  double loss = 0;  // mean cross-entropy; 0 for no samples
  std::int64_t classes = 0;
  std::vector<std::int64_t> confusion;    // [true class][predicted class]; a row of scores with a NaN predicts none
  std::vector<std::int32_t> predictions;  // by position in the samples; -1 where a score is NaN

  double accuracy() const { return count == 0 ? 0 : static_cast<double>(correct) / static_cast<double>(count); }
};

// The model's answer to images u8 [n, h, w, c] that have passed the transform's front: logits [n, classes], the mean
// over the transform's views. Any thread.
Tensor logits_of(const nn::Model& model, const data::Transform& transform, const Tensor& images);

// `samples` are positions in `split`. The threads of the team share the model; it is not changed.
Evaluation evaluate(dist::ReplicaTeam& team, const nn::Model& model, const data::Split& split,
                    std::span<const std::uint32_t> samples, const data::Transform& transform);

}  // namespace lockring::app
