#include "apps/train/trainer.h"

#include "core/error.h"
#include "core/stopwatch.h"
#include "nn/gradient_norm.h"
#include "ops/all_finite.h"
#include "ops/argmax.h"
#include "ops/cross_entropy.h"
#include "ops/gradient_sums_kernel.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace lockring::app {
namespace {

// Micro-batches of a shard, in order; a remainder joins the last.
template <class F>
void for_each_micro_batch(data::Range shard, std::int64_t micro_batch, F f) {
  const std::int64_t size = micro_batch > 0 ? micro_batch : std::max<std::int64_t>(shard.size(), 1);
  for (std::int64_t begin = shard.begin; begin < shard.end;) {
    const bool last = shard.end - begin - size < size;
    const std::int64_t end = last ? shard.end : begin + size;
    f(data::Range{begin, end});
    begin = end;
  }
}

}  // namespace

Trainer::Trainer(TrainerOptions options, const data::Split& train, const data::Transform& transform)
    : options_(std::move(options)),
      loader_(train, transform, {.seed = options_.seed, .threads = options_.loader_threads}),
      team_(options_.replicas) {
  if (options_.shards == 0) options_.shards = options_.replicas;
  check(options_.shards > 0 && options_.shards % options_.replicas == 0,
        "--shards {} is not a multiple of the {} replicas", options_.shards, options_.replicas);
  check(options_.micro_batch >= 0, "--micro-batch {} is not possible", options_.micro_batch);
  check(options_.clip_norm >= 0, "--clip-norm {} is not possible", options_.clip_norm);
  models_.push_back(std::make_unique<nn::Model>(options_.build(), options_.seed));
  while (static_cast<int>(models_.size()) < options_.replicas)
    models_.push_back(std::make_unique<nn::Model>(options_.build(), model().parameters()));
  optimizer_ = nn::make_optimizer(options_.optimizer, model().parameters());
  for (std::int64_t shard = 0; shard < options_.shards; ++shard) {
    gradients_.emplace_back(model().parameters().shared_layout());
    gradient_starts_.push_back(gradients_.back().buffer().data());
  }
  tails_.resize(options_.shards);
  const std::int64_t elements = model().layout().elements();
  square_blocks_.resize((elements + nn::kSquareSumBlock - 1) / nn::kSquareSumBlock);
  step_job_ = [this](int replica) { run_step(replica); };
  refresh();
}

StepResult Trainer::step(std::span<const std::uint32_t> batch, std::int64_t epoch, std::int64_t step,
                         double learning_rate) {
  input_ = {batch, step, learning_rate};
  if (trace_ != nullptr) trace_->begin_step(step + 1);
  loader_.begin_step(batch, epoch);
  team_.run(step_job_);
  if (diverged()) report_divergence();
  const StepResult result = totals();
  if (trace_ != nullptr) trace_->end_step();
  return result;
}

void Trainer::run_step(int replica) {
  mark(replica, StepPart::waiting);
  const std::int64_t shards = options_.shards / options_.replicas;
  for (std::int64_t i = 0; i < shards; ++i) compute_shard(replica, replica * shards + i);
  const dist::Slice slice =
      dist::slice_of(model().layout().elements(), nn::kSquareSumBlock, options_.replicas, replica);
  meet(replica);
  reduce(slice);
  mark(replica, StepPart::exchange);
  meet(replica);
  if (diverged()) return;  // all replicas see the same sums
  update(slice);
  mark(replica, StepPart::optimizer);
  meet(replica);
  models_[replica]->refresh(nn::Purpose::training);
  mark(replica, StepPart::packing);
}

void Trainer::meet(int replica) {
  team_.meet(replica);
  mark(replica, StepPart::waiting);
}

void Trainer::compute_shard(int replica, std::int64_t shard) {
  nn::Model& model = *models_[replica];
  Tail& tail = tails_[shard];
  tail = {};
  model.bind_gradients(gradients_[shard]);
  const data::Range range = data::shard_range(static_cast<std::int64_t>(input_.batch.size()), options_.shards, shard);
  for_each_micro_batch(range, options_.micro_batch, [&](data::Range r) { compute_micro_batch(replica, r, tail); });
  model.complete_gradients();
  mark(replica, StepPart::backward);
}

void Trainer::compute_micro_batch(int replica, data::Range range, Tail& tail) {
  const auto start = std::chrono::steady_clock::now();
  const data::Batch batch = loader_.read(range);
  tail.data_seconds += seconds_since(start);
  mark(replica, StepPart::data);
  nn::Context context = context_of(range.begin);
  if (trace_ != nullptr) context.observer = trace_->follow_forward(replica);
  const Tensor logits = models_[replica]->forward(batch.images, context);
  mark(replica, StepPart::forward);
  const Tensor loss = ops::cross_entropy(logits, batch.labels, static_cast<float>(options_.label_smoothing),
                                         {batch.partner_labels, batch.weights});
  tail.loss_sum += loss.item();
  tail.correct += ops::count_correct(logits, batch.labels);
  if (!std::isfinite(loss.item()) && tail.bad.size() == 0) tail.bad = range;
  mark(replica, StepPart::loss);
  if (trace_ != nullptr) {
    trace_->backward(replica, loss);
  } else {
    backward(loss);
  }
}

nn::Context Trainer::context_of(std::int64_t first_sample) const {
  return {.training = true, .seed = options_.seed, .step = input_.step, .first_sample = first_sample};
}

void Trainer::reduce(dist::Slice slice) {
  float* sums = gradients_[0].buffer().data();
  if (options_.shards > 1)
    kTreeSum.on()(gradient_starts_.data(), static_cast<int>(options_.shards), slice.begin, slice.end, sums);
  nn::square_sum(model().layout(), sums, slice.begin, slice.end, square_blocks_);
}

void Trainer::update(dist::Slice slice) {
  const StepResult result = totals();
  const double mean = 1 / static_cast<double>(result.count);
  const bool clip = options_.clip_norm > 0 && result.gradient_norm > options_.clip_norm;
  optimizer_->update(model().parameters().buffer().data(),
                     {.begin = slice.begin,
                      .end = slice.end,
                      .gradient = gradient_starts_[0],
                      .gradient_scale = clip ? mean * options_.clip_norm / result.gradient_norm : mean,
                      .statistic_scale = mean,
                      .learning_rate = input_.learning_rate,
                      .step = input_.step + 1});
}

// Sums in the order of shards and blocks: every replica gets the same bits.
StepResult Trainer::totals() const {
  StepResult result;
  result.count = static_cast<std::int64_t>(input_.batch.size());
  const std::size_t per_replica = tails_.size() / models_.size();
  double waited = 0;  // by one replica, over its shards
  for (std::size_t shard = 0; shard < tails_.size(); ++shard) {
    result.loss_sum += tails_[shard].loss_sum;
    result.correct += tails_[shard].correct;
    waited = (shard % per_replica == 0 ? 0 : waited) + tails_[shard].data_seconds;
    result.data_seconds = std::max(result.data_seconds, waited);
  }
  double squares = 0;
  for (const double block : square_blocks_) squares += block;
  result.gradient_norm = std::sqrt(squares) / static_cast<double>(result.count);
  return result;
}

bool Trainer::diverged() const {
  const StepResult result = totals();
  return !std::isfinite(result.loss_sum) || !std::isfinite(result.gradient_norm);
}

void Trainer::report_divergence() {
  const std::int64_t step = input_.step + 1;
  for (const Tail& tail : tails_) {
    if (tail.bad.size() == 0) continue;
    const std::string layer = nn::first_bad_layer(model(), loader_.read(tail.bad).images, context_of(tail.bad.begin));
    fail(ErrorCode::diverged, "the loss is not finite at step {}: first in layer '{}'; a lower --lr may help", step,
         layer.empty() ? "loss" : layer);
  }
  for (const nn::Segment& segment : model().layout().segments()) {
    if (!ops::all_finite(gradients_[0].view(segment)))
      fail(ErrorCode::diverged, "the gradient of '{}' is not finite at step {}; a lower --lr or --clip-norm may help",
           segment.name, step);
  }
  fail(ErrorCode::diverged, "the norm of the gradient is not finite at step {}; a lower --lr may help", step);
}

const nn::Model& Trainer::averaged() {
  if (!optimizer_->ema().defined()) return model();
  if (average_ == nullptr) {
    average_ = std::make_unique<nn::Model>(options_.build(), optimizer_->ema());
  } else {
    average_->refresh();
  }
  return *average_;
}

void Trainer::refresh() {
  for (const auto& model : models_) model->refresh(nn::Purpose::training);
}

}  // namespace lockring::app
