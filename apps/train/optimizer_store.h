// What a parameter server keeps: a model's parameters and the optimizer's state, of which it moves its slice.
#pragma once

#include "distributed/communicator.h"
#include "distributed/parameter_server.h"
#include "nn/model.h"
#include "nn/optimizer.h"

#include <functional>
#include <memory>
#include <vector>

namespace lockring::app {

struct StoreOptions {
  nn::OptimizerOptions optimizer;
  double clip_norm = 0;  // synchronous only, since nobody else knows the norm of all slices
  int workers = 1;
  // The servers, which agree on the norm of all slices in every step; null: asynchronous, each for itself.
  dist::Communicator* servers = nullptr;
  std::function<int()> stop_request = {};  // null: never
};

// Gives the bits of Trainer's own update when synchronous. apply() returns the sum of squares of the summed gradient:
// of all of it when synchronous, else of the slice.
class OptimizerStore final : public dist::ParameterStore {
 public:
  OptimizerStore(nn::Model& model, const StoreOptions& options);

  std::vector<float*> arenas() override;
  double apply(const dist::Push& push, std::span<const float* const> gradients, dist::Slice slice) override;
  int stop_request() override { return options_.stop_request ? options_.stop_request() : 0; }

 private:
  double squares(dist::Slice slice);

  nn::Model& model_;
  StoreOptions options_;
  std::unique_ptr<nn::Optimizer> optimizer_;
  nn::Arena sums_;
  std::vector<double> square_blocks_;
  std::int64_t updates_ = 0;
};

}  // namespace lockring::app
