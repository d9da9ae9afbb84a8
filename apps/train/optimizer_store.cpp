#include "apps/train/optimizer_store.h"

#include "nn/gradient_norm.h"
#include "ops/gradient_sums_kernel.h"

#include <algorithm>
#include <cmath>

namespace lockring::app {

OptimizerStore::OptimizerStore(nn::Model& model, const StoreOptions& options)
    : model_(model),
      options_(options),
      optimizer_(nn::make_optimizer(options.optimizer, model.parameters())),
      sums_(model.parameters().shared_layout()),
      square_blocks_(
          static_cast<std::size_t>((model.layout().elements() + nn::kSquareSumBlock - 1) / nn::kSquareSumBlock)) {}

std::vector<float*> OptimizerStore::arenas() {
  std::vector<float*> starts{model_.parameters().buffer().data()};
  for (const nn::NamedArena& state : optimizer_->state()) {
    Tensor buffer = state.arena.buffer();
    starts.push_back(buffer.data());
  }
  return starts;
}

// In the order of the blocks, whoever summed them: everybody gets the same bits.
double OptimizerStore::squares(dist::Slice slice) {
  std::ranges::fill(square_blocks_, 0);
  nn::square_sum(model_.layout(), sums_.buffer().data(), slice.begin, slice.end, square_blocks_);
  if (options_.servers != nullptr) options_.servers->all_reduce(std::span(square_blocks_));
  double sum = 0;
  for (const double block : square_blocks_) sum += block;
  return sum;
}

double OptimizerStore::apply(const dist::Push& push, std::span<const float* const> gradients, dist::Slice slice) {
  const bool synchronous = options_.servers != nullptr;
  // A run that goes on has had as many updates before as its steps have had pushes.
  if (updates_ == 0) updates_ = synchronous ? push.step : push.step * options_.workers;
  ++updates_;
  if (push.count == 0) return 0;  // a part of a batch that is smaller than the job
  kTreeSum.on()(gradients.data(), static_cast<int>(gradients.size()), 0, slice.size(),
                sums_.buffer().data() + slice.begin);
  const double squares = this->squares(slice);
  if (!std::isfinite(squares)) return squares;
  const double mean = 1 / static_cast<double>(push.count);
  const double norm = std::sqrt(squares) / static_cast<double>(push.count);
  const bool clip = synchronous && options_.clip_norm > 0 && norm > options_.clip_norm;
  optimizer_->update(model_.parameters().buffer().data(),
                     {.begin = slice.begin,
                      .end = slice.end,
                      .gradient = sums_.buffer().data(),
                      .gradient_scale = clip ? mean * options_.clip_norm / norm : mean,
                      .statistic_scale = mean,
                      .learning_rate = push.learning_rate,
                      .step = updates_});
  return squares;
}

}  // namespace lockring::app
