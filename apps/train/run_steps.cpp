// The steps of a run.
#include "apps/train/run.h"

#include "core/stopwatch.h"

#include <algorithm>
#include <chrono>

namespace lockring::app {

void TrainRun::take_step(std::span<const std::uint32_t> order) {
  const std::int64_t begin = state_.epoch_step * options_.batch_size;
  const auto batch = order.subspan(begin, std::min<std::int64_t>(options_.batch_size, std::ssize(order) - begin));
  const double learning_rate = schedule_.learning_rate(state_.step + 1);
  if (tracer_) tracer_->before_step(total_steps() - state_.step);
  if (!trainer_.runs_ahead()) finish_steps(0);
  if (under_way_.empty()) last_finish_ = std::chrono::steady_clock::now();
  trainer_.start(batch, state_.epoch, state_.step, learning_rate);
  ++state_.step;
  ++state_.epoch_step;
  under_way_.push_back({state_.step, learning_rate});
  finish_steps(trainer_.runs_ahead() ? 1 : 0);
}

// All but so many of those that were started. A step's time is that since the one before it.
void TrainRun::finish_steps(std::size_t left) {
  for (; under_way_.size() > left; under_way_.erase(under_way_.begin())) {
    const auto [step, learning_rate] = under_way_.front();
    const StepResult result = trainer_.finish();
    const double seconds = seconds_since(last_finish_);
    last_finish_ = std::chrono::steady_clock::now();
    epoch_timing_.seconds += seconds;
    epoch_timing_.data_seconds += result.data_seconds;
    epoch_timing_.images += result.count;
    state_.loss_sum += result.loss_sum;
    state_.count += result.count;
    state_.correct += result.correct;
    last_step_ = result;
    if (tracer_) tracer_->after_step();
    if (tracker_) tracker_->step(step, result, learning_rate, seconds);
    show_notes();
    show_progress(learning_rate);
  }
}

}  // namespace lockring::app
