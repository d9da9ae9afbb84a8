// Exact evaluation of a model: integer counts, and sums in one order, whatever the number of threads.
#pragma once

#include "data/dataset.h"
#include "data/transform.h"
#include "distributed/communicator.h"
#include "distributed/replica_team.h"
#include "nn/model.h"

#include <cstdint>
#include <functional>
#include <memory>
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
// over the transform's views. Images and answer lie in the CPU's memory, wherever the model does. Any thread.
Tensor logits_of(const nn::Model& model, const data::Transform& transform, const Tensor& images);

// Who evaluates: the threads of this process, alone or with those of other ranks that evaluate the same.
struct Workers {
  Workers(dist::ReplicaTeam& alone) : team(alone), total(alone.size()) {}  // NOLINT: a team is its own workers
  Workers(dist::ReplicaTeam& members, int first_one, int in_all, dist::Communicator* ranks)
      : team(members), first(first_one), total(in_all), all(ranks) {}

  dist::ReplicaTeam& team;
  int first = 0;  // of this process's, among all
  int total = 1;
  dist::Communicator* all = nullptr;  // null: there are no others
};

// One model, on one device or several: thread i of the workers takes the i-th of them, in turn.
using ModelCopies = std::vector<const nn::Model*>;

// Copies of a model on devices, whose modules `build` makes. They are waited for.
class DeviceCopies {
 public:
  DeviceCopies(const nn::Model& model, std::span<const Device> devices,
               const std::function<std::unique_ptr<nn::Module>()>& build);
  ModelCopies models() const;

 private:
  std::vector<std::unique_ptr<nn::Model>> copies_;
};

// `samples` are positions in `split`. The workers share the model; it is not changed. Every rank gets the same result.
Evaluation evaluate(Workers workers, const ModelCopies& models, const data::Split& split,
                    std::span<const std::uint32_t> samples, const data::Transform& transform);
inline Evaluation evaluate(Workers workers, const nn::Model& model, const data::Split& split,
                           std::span<const std::uint32_t> samples, const data::Transform& transform) {
  return evaluate(workers, ModelCopies{&model}, split, samples, transform);
}

}  // namespace lockring::app
