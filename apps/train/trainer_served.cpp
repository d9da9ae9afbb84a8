// The trainer's part with parameter servers: gradients go to them, parameters come back.
#include "apps/train/trainer.h"
#include "core/error.h"
#include "nn/gradient_norm.h"

#include <cmath>
#include <numeric>

namespace lockring::app {

void Trainer::join_servers() {
  if (options_.served.servers == 0) return;
  const dist::ServerPlan plan{world_.size(), options_.served.servers, model().layout().elements(), nn::kSquareSumBlock};
  client_ = std::make_unique<dist::ParameterClient>(*options_.served.group, plan);
}

void Trainer::finish_served_step(int replica) {
  meet(replica);
  if (replica == 0) result_ = push_and_pull();
  mark(replica, StepPart::exchange);
  meet(replica);
  if (diverged(result_)) return;
  models_[replica]->refresh(nn::Purpose::training);
  mark(replica, StepPart::packing);
}

// Synchronous workers know each other's tails before anything is pushed, so all see a loss that is not finite; an
// asynchronous one knows its own.
StepResult Trainer::push_and_pull() {
  clear_foreign_tails();
  const bool asynchronous = options_.served.asynchronous;
  if (!asynchronous) world_.across().all_reduce(tail_numbers());
  StepResult result = totals();
  result.gradient_norm = 0;
  if (asynchronous) {
    result.count = 0;
    for (std::int64_t shard = own_shards().begin; shard < own_shards().end; ++shard)
      result.count += data::shard_range(std::ssize(input_.batch), options_.shards, shard).size();
  }
  if (!std::isfinite(result.loss_sum)) return result;
  const dist::Pulled pulled = client_->push({.step = input_.step,
                                             .learning_rate = input_.learning_rate,
                                             .count = result.count,
                                             .stop_request = result.stop_request},
                                            sums(), model().parameters().buffer().data());
  const double squares =
      asynchronous ? std::accumulate(pulled.results.begin(), pulled.results.end(), 0.0) : pulled.results[0];
  result.gradient_norm = result.count > 0 ? std::sqrt(squares) / static_cast<double>(result.count) : squares;
  result.stop_request = input_.step >= pulled.last_step.value_or(input_.step) ? pulled.stop_request : 0;
  return result;
}

void Trainer::settle() {
  if (client_ == nullptr) return;
  world_.all().barrier();  // after it nobody pushes until all have fetched
  client_->fetch(0, model().parameters().buffer().data());
  const std::vector<nn::NamedArena>& state = optimizer().state();
  for (std::size_t i = 0; i < state.size(); ++i) {
    Tensor buffer = state[i].arena.buffer();
    // The first rank writes checkpoints; the moving average is what all evaluate with.
    const bool evaluated = optimizer().ema().defined() && buffer.data() == optimizer().ema().buffer().data();
    if (world_.rank() == 0 || evaluated) client_->fetch(static_cast<int>(i) + 1, buffer.data());
  }
  world_.all().barrier();
  refresh();
}

void Trainer::publish() {
  if (client_ == nullptr) return;
  if (world_.rank() == 0) {
    client_->store(0, model().parameters().buffer().data());
    const std::vector<nn::NamedArena>& state = optimizer().state();
    for (std::size_t i = 0; i < state.size(); ++i)
      client_->store(static_cast<int>(i) + 1, state[i].arena.buffer().data());
  }
  settle();
}

void Trainer::leave_servers() {
  if (client_ == nullptr) return;
  client_->leave();
  client_ = nullptr;
}

}  // namespace lockring::app
