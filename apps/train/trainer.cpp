#include "apps/train/trainer.h"

#include "apps/train/gradient_segments.h"
#include "apps/train/micro_batches.h"
#include "core/error.h"
#include "core/stopwatch.h"
#include "distributed/agreement.h"
#include "nn/gradient_norm.h"
#include "ops/all_finite.h"
#include "ops/argmax.h"
#include "ops/batch_norm.h"
#include "ops/cast.h"
#include "ops/cross_entropy.h"
#include "ops/gradient_sums_kernel.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace lockring::app {
Trainer::Trainer(TrainerOptions options, const data::Split& train, const data::Transform& transform)
    : options_(std::move(options)),
      train_(train),
      transform_(transform),
      own_world_(options_.world == nullptr ? dist::alone() : nullptr),
      world_(options_.world == nullptr ? *own_world_ : *options_.world),
      group_(world_, options_.replicas) {
  if (options_.shards == 0) options_.shards = group_.job_size();
  check(options_.shards > 0 && options_.shards % group_.job_size() == 0,
        "--shards {} is not a multiple of the {} replicas", options_.shards, group_.job_size());
  check(options_.micro_batch >= 0, "--micro-batch {} is not possible", options_.micro_batch);
  check(
      !options_.sync_batch_norm || (options_.shards == group_.job_size() && options_.micro_batch == 0),
      "with --sync-bn each replica computes one shard at once: --shards {} does not fit {} replicas, or --micro-batch "
      "{} cuts them",
      options_.shards, group_.job_size(), options_.micro_batch);
  check(options_.clip_norm >= 0, "--clip-norm {} is not possible", options_.clip_norm);
  check_devices();
  dist::check_agreement(world_, "the plan of the training", plan());
  per_replica_ = options_.shards / group_.job_size();
  const std::int64_t first = first_shard(0);
  loader_.emplace(train, transform,
                  data::LoaderOptions{.seed = options_.seed,
                                      .threads = options_.loader_threads,
                                      .shards = options_.shards,
                                      .own = {first, first + options_.replicas * per_replica_}});
  make_models();
  tails_ = group_.share<Tail>(options_.shards);
  const std::int64_t elements = model().layout().elements();
  square_blocks_ = group_.share<double>((elements + nn::kSquareSumBlock - 1) / nn::kSquareSumBlock);
  if (world_.nodes() > 1 && options_.served.servers == 0 && !options_.nccl) make_exchange();
  if (options_.sync_batch_norm) make_moment_sums();
  join_servers();
  step_job_ = [this](int replica) { on_gpu() ? run_step_on_gpus(replica) : run_step(replica); };
  refresh();
}

// What must be the same on every rank for their sums to mean anything.
std::string Trainer::plan() const {
  const TrainerOptions& o = options_;
  return nn::ArenaLayout(*o.build()).plan() +
         fmt::format("shards {}\nmicro-batch {}\nallreduce {}\nwire {}\nbucket-bytes {}\nseed {}\nsync-bn {}\n",
                     o.shards, o.micro_batch, o.nccl ? "nccl" : dist::to_string(o.exchange), dist::to_string(o.wire),
                     o.bucket_bytes, o.seed, o.sync_batch_norm) +
         fmt::format("device {}\nprecision {}\n", on_gpu() ? "cuda" : "cpu", name_of(o.precision)) +
         fmt::format("label-smoothing {}\nclip-norm {}\ncheck-parameters {}\noptimizer {} {} {} {} {} {} {} {}\n",
                     o.label_smoothing, o.clip_norm, o.check_parameters, o.optimizer.name, o.optimizer.momentum,
                     o.optimizer.nesterov, o.optimizer.beta1, o.optimizer.beta2, o.optimizer.epsilon,
                     o.optimizer.weight_decay, o.optimizer.ema_decay);
}

// Of all ranks of this machine, if there are several.
nn::ArenaMemory Trainer::shared_memory() {
  if (world_.node().size() == 1) return {};
  return [this](std::int64_t elements) {
    const std::shared_ptr<std::byte> bytes = group_.allocate(elements * 4);
    return Tensor::view_of(Storage::wrap(bytes.get(), elements * 4, bytes), 0, {elements});
  };
}

// Every rank of a machine writes the same first values to the same memory.
void Trainer::make_models() {
  if (on_gpu()) {
    make_gpu_models();
  } else {
    models_.push_back(std::make_unique<nn::Model>(options_.build(), options_.seed, shared_memory()));
    while (static_cast<int>(models_.size()) < options_.replicas)
      models_.push_back(std::make_unique<nn::Model>(options_.build(), model().parameters()));
    optimizers_.push_back(nn::make_optimizer(options_.optimizer, model().parameters()));
    make_gradients(model().parameters().shared_layout());
  }
  world_.all().barrier();
}

void Trainer::make_gradients(const std::shared_ptr<const nn::ArenaLayout>& layout) {
  for (std::int64_t shard = 0; shard < group_.size() * per_replica_; ++shard) {
    gradients_.emplace_back(layout);
    gradient_starts_.push_back(gradients_.back().buffer().data());
  }
}

void Trainer::make_moment_sums() {
  std::int64_t most = 1;
  for (const nn::Segment& segment : model().layout().segments()) most = std::max(most, segment.shape.elements());
  moment_sums_.emplace(world_, group_, 2 * most + 1);
}

StepResult Trainer::step(std::span<const std::uint32_t> batch, std::int64_t epoch, std::int64_t step,
                         double learning_rate) {
  start(batch, epoch, step, learning_rate);
  return finish();
}

void Trainer::start(std::span<const std::uint32_t> batch, std::int64_t epoch, std::int64_t step, double learning_rate) {
  input_ = {batch, epoch, step, learning_rate};
  loader_->begin_step(batch, epoch);
  if (runs_ahead()) return start_on_gpu();
  started_.push_back(run_whole_step());
}

StepResult Trainer::finish() {
  if (gpu_steps_ && gpu_steps_->under_way() > 0) return finish_on_gpu();
  const StepResult result = started_.front();
  started_.erase(started_.begin());
  return result;
}

StepResult Trainer::run_whole_step() {
  if (trace_ != nullptr) trace_->begin_step(input_.step + 1);
  familiar_ = batch_sizes_.contains(input_.batch.size());
  group_.team().run(step_job_);
  batch_sizes_.insert(input_.batch.size());
  if (!result_.drifted.empty()) report_drift();
  if (diverged(result_)) report_divergence();
  if (trace_ != nullptr) trace_->end_step();
  return result_;
}

std::int64_t Trainer::first_shard(int replica) const {
  return (group_.job_first() + group_.first() + replica) * per_replica_;
}

dist::Slice Trainer::slice_of(int replica) {
  return dist::slice_of(model().layout().elements(), nn::kSquareSumBlock, group_.size(), group_.first() + replica);
}

// The first replica's thread speaks for the rank.
void Trainer::note(int replica, dist::Phase phase) const {
  if (replica == 0) world_.note(input_.step + 1, phase);
}

void Trainer::run_step(int replica) {
  note(replica, dist::Phase::gradient);
  mark(replica, StepPart::waiting);
  if (exchange_) exchange_->begin(replica);
  if (on_gpu()) lanes_[replica]->begin_step();
  for (std::int64_t i = 0; i < per_replica_; ++i) compute_shard(replica, first_shard(replica) + i);
  if (on_gpu()) gather_from_gpu(replica);
  if (exchange_) exchange_->complete_all(replica);
  const dist::Slice slice = slice_of(replica);
  meet(replica);
  if (exchange_) {
    add_up_machines(replica);
  } else if (options_.nccl) {
    share_tails(replica);
  } else if (!sums_on_gpu()) {
    add_up(slice);
  }
  if (client_ != nullptr) return finish_served_step(replica);
  if (!sums_on_gpu()) nn::square_sum(model().layout(), sums(), slice.begin, slice.end, square_blocks_.span());
  mark(replica, StepPart::exchange);
  meet(replica);
  const StepResult result = totals();  // now, since those who have met again go on to the next step
  if (replica == 0) result_ = result;
  if (replica == 0) result_.exchange_seconds = exchange_seconds_;
  if (diverged(result) || !result.drifted.empty()) return;  // all replicas see the same sums
  note(replica, dist::Phase::update);
  update(replica, slice, result);
  mark(replica, StepPart::optimizer);
  meet(replica);
  models_[replica]->refresh(nn::Purpose::training);
  mark(replica, StepPart::packing);
}

void Trainer::meet(int replica) {
  group_.team().meet(replica);
  mark(replica, StepPart::waiting);
}

// The sum over the machine's gradients.
void Trainer::add_up(dist::Slice slice) {
  if (gradients_.size() > 1)
    kTreeSum.on()(gradient_starts_.data(), static_cast<int>(gradients_.size()), slice.begin, slice.end, sums());
}

// The rest of the exchange: what could not be hidden behind the backward.
void Trainer::add_up_machines(int replica) {
  note(replica, dist::Phase::exchange);
  if (replica == 0) {
    const auto start = std::chrono::steady_clock::now();
    exchange_->finish();
    exchange_seconds_ = seconds_since(start);
  }
  mark(replica, StepPart::exchange);
  meet(replica);
}

void Trainer::make_exchange() {
  dist::GradientPlan plan{.algorithm = options_.exchange, .wire = options_.wire, .bucket_bytes = options_.bucket_bytes};
  plan.segments = gradient_segments(model().layout());
  for (const nn::Segment& segment : model().layout().segments())
    plan.arrive.push_back(segment.kind != nn::ParameterKind::statistic);  // moments come with the forward
  dist::GradientMemory memory{.sums = sums(),
                              .add_up = [this](dist::Slice slice) { add_up(slice); },
                              .tail = tail_numbers(),
                              .own_tail = {own_shards().begin * kTailNumbers, own_shards().end * kTailNumbers}};
  exchange_ = std::make_unique<dist::GradientExchange>(world_, group_, plan, std::move(memory));
  for (int replica = 0; replica < options_.replicas; ++replica) hooks_.emplace_back(*exchange_, replica);
}

void Trainer::clear_foreign_tails() {
  std::fill(tails_.begin(), tails_.begin() + own_shards().begin, Tail{});
  std::fill(tails_.begin() + own_shards().end, tails_.end(), Tail{});
}

void Trainer::compute_shard(int replica, std::int64_t shard) {
  nn::Model& model = *models_[replica];
  const ops::CastOnce parameters(model.parameters().buffer(), options_.precision);
  Tail& tail = tails_[shard];
  tail = {};
  if (compares_parameters() && shard == first_shard(replica)) add_digest(replica);
  if (replica == 0 && options_.stop_request) tail.stop_request = options_.stop_request();
  model.bind_gradients(on_gpu() ? gradients_to_compute(replica, shard) : shard_gradients(shard));
  const data::Range range = data::shard_range(static_cast<std::int64_t>(input_.batch.size()), options_.shards, shard);
  const bool last_shard = shard + 1 == first_shard(replica) + per_replica_;
  for_each_micro_batch(range, on_gpu() ? options_.gpu_micro_batch : options_.micro_batch, [&](data::Range r) {
    compute_micro_batch(replica, r, shard, last_shard && r.end == range.end);
  });
  // The others' batch normalisation waits for this replica, whose part may be empty.
  if (moment_sums_ && range.size() == 0) compute_micro_batch(replica, range, shard, true);
  model.complete_gradients();
  if (gathers_from_gpus()) shard_gradients(shard).buffer().copy_from(gpu_gradients_[replica].buffer());
  mark(replica, StepPart::backward);
}

// The gradients are complete after the replica's last one.
void Trainer::compute_micro_batch(int replica, data::Range range, std::int64_t shard, bool last) {
  const auto start = std::chrono::steady_clock::now();
  const data::Batch batch = on_gpu() ? send_to_gpu(replica, range) : read(range);
  tails_[shard].data_seconds += seconds_since(start);
  mark(replica, StepPart::data);
  nn::Context context = context_of(range.begin);
  std::optional<ops::WholeBatch> whole_batch;
  if (moment_sums_) whole_batch.emplace(moment_sums_->of(replica));
  if (trace_ != nullptr) context.observer = trace_->follow_forward(replica);
  const Tensor logits = models_[replica]->forward(batch.images, context);
  mark(replica, StepPart::forward);
  const Tensor loss = ops::cross_entropy(logits, batch.labels, static_cast<float>(options_.label_smoothing),
                                         {batch.partner_labels, batch.weights});
  if (on_gpu()) {
    lanes_[replica]->bring_back(shard, range, loss, ops::correct_count(logits, batch.labels));
  } else {
    add_loss(tails_[shard], range, loss.item(), ops::count_correct(logits, batch.labels));
  }
  mark(replica, StepPart::loss);
  std::optional<BucketHooks::Scope> hooks;
  std::optional<GpuExchange::Scope> gpu_hooks;
  if (last && options_.nccl) gpu_hooks.emplace(*gpu_exchanges_[replica]);
  if (last && exchange_ && !on_gpu())
    hooks.emplace(hooks_[replica], shard_gradients(first_shard(replica + 1) - 1).buffer().data());
  if (trace_ != nullptr) {
    trace_->backward(replica, loss);
  } else {
    backward(loss);
  }
}

void Trainer::add_loss(Tail& tail, data::Range range, double loss, std::int64_t correct) {
  tail.loss_sum += loss;
  tail.correct += static_cast<double>(correct);
  if (std::isfinite(loss) || tail.bad_begin != tail.bad_end) return;
  tail.bad_begin = static_cast<double>(range.begin);
  tail.bad_end = static_cast<double>(range.end);
}

data::Batch Trainer::read(data::Range range) { return range.size() > 0 ? loader_->read(range) : read_again(range); }

// Of any rank's part of the batch.
data::Batch Trainer::read_again(data::Range range) const {
  const Shape& all = train_.images->shape();
  data::Batch batch = data::Batch::empty({all[1], all[2], all[3]}, range.size(), transform_.mixes());
  transform_.fill(train_, input_.batch, range, options_.seed, input_.epoch, batch);
  return batch;
}

nn::Context Trainer::context_of(std::int64_t first_sample) const {
  return {.training = true,
          .seed = options_.seed,
          .step = input_.step,
          .first_sample = first_sample,
          .precision = options_.precision};
}

// Replicas on CPUs each move a slice of the parameters that they share; a GPU all of its own.
void Trainer::update(int replica, dist::Slice slice, const StepResult& result) {
  const double mean = 1 / static_cast<double>(result.count);
  const bool clip = options_.clip_norm > 0 && result.gradient_norm > options_.clip_norm;
  const float* gradient = gradient_starts_[0];
  if (on_gpu() && group_.job_size() > 1) {
    if (gathers_from_gpus()) gpu_gradients_[replica].buffer().copy_from(gradients_[0].buffer());
    gradient = gpu_gradients_[replica].buffer().data();
    slice = {0, model().layout().elements()};
  }
  const nn::Optimizer& optimizer = *optimizers_[on_gpu() ? replica : 0];
  optimizer.update(models_[replica]->parameters().buffer().data(),
                   {.begin = slice.begin,
                    .end = slice.end,
                    .gradient = gradient,
                    .gradient_scale = clip ? mean * options_.clip_norm / result.gradient_norm : mean,
                    .statistic_scale = mean,
                    .learning_rate = input_.learning_rate,
                    .step = input_.step + 1});
}

// Sums in the order of shards and blocks: every replica gets the same bits.
StepResult Trainer::totals() const {
  StepResult result;
  result.count = static_cast<std::int64_t>(input_.batch.size());
  double correct = 0;
  double waited = 0;  // by one replica, over its shards
  for (std::int64_t shard = 0; shard < tails_.size(); ++shard) {
    const Tail& tail = tails_[shard];
    result.loss_sum += tail.loss_sum;
    correct += tail.correct;
    waited = (shard % per_replica_ == 0 ? 0 : waited) + tail.data_seconds;
    result.data_seconds = std::max(result.data_seconds, waited);
    result.stop_request = std::max(result.stop_request, static_cast<int>(tail.stop_request));
  }
  result.correct = static_cast<std::int64_t>(correct);
  double squares = 0;
  for (const double block : square_blocks_) squares += block;
  result.gradient_norm = std::sqrt(squares) / static_cast<double>(result.count);
  if (compares_parameters()) result.drifted = drifted_machines();
  return result;
}

bool Trainer::diverged(const StepResult& result) {
  return !std::isfinite(result.loss_sum) || !std::isfinite(result.gradient_norm);
}

void Trainer::report_divergence() {
  const std::int64_t step = input_.step + 1;
  for (const Tail& tail : tails_) {
    if (tail.bad_begin == tail.bad_end) continue;
    const data::Range bad{static_cast<std::int64_t>(tail.bad_begin), static_cast<std::int64_t>(tail.bad_end)};
    const std::string layer = nn::first_bad_layer(model(), read_again(bad).images.to(device()), context_of(bad.begin));
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

// The parameters and the optimizer's state.
std::vector<Tensor> Trainer::buffers_of(int replica) const {
  std::vector<Tensor> buffers = {models_[replica]->parameters().buffer()};
  for (const nn::NamedArena& state : optimizers_[on_gpu() ? replica : 0]->state())
    buffers.push_back(state.arena.buffer());
  return buffers;
}

const nn::Model& Trainer::averaged_of(std::size_t replica) {
  const nn::Arena& average = optimizers_[replica]->ema();
  if (!average.defined()) return *models_[replica];
  averages_.resize(optimizers_.size());
  std::unique_ptr<nn::Model>& model = averages_[replica];
  if (model == nullptr) {
    model = std::make_unique<nn::Model>(options_.build(), average);
  } else {
    model->refresh();
  }
  return *model;
}

ModelCopies Trainer::averaged_copies() {
  ModelCopies copies;
  for (std::size_t replica = 0; replica < optimizers_.size(); ++replica) copies.push_back(&averaged_of(replica));
  return copies;
}

void Trainer::refresh() {
  if (on_gpu() && options_.replicas > 1) share_parameters();
  for (const auto& model : models_) model->refresh(nn::Purpose::training);
}

}  // namespace lockring::app
