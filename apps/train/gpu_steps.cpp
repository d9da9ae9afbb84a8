#include "apps/train/gpu_steps.h"

#include "core/autograd.h"
#include "core/device_memory.h"
#include "core/stopwatch.h"
#include "nn/gradient_norm.h"
#include "ops/argmax.h"
#include "ops/cast.h"
#include "ops/cross_entropy.h"
#include "ops/gradient_sums_kernel.h"

#include <chrono>
#include <cstring>
#include <type_traits>

namespace lockring::app {
namespace {

// Steps of one kind before it is recorded: the first choose algorithms and take memory.
constexpr int kWarmUp = 2;

}  // namespace

GpuSteps::GpuSteps(GpuStepsOptions options, nn::Model& model, const nn::Optimizer& optimizer,
                   std::span<nn::Arena> gradients, GpuLane& lane, const ResidentData* resident)
    : options_(options),
      model_(model),
      optimizer_(optimizer),
      gradients_(gradients),
      lane_(lane),
      resident_(resident),
      steps_{Step{.done = DeviceEvent(model.device())}, Step{.done = DeviceEvent(model.device())}},
      graph_(model.device()) {}

double GpuSteps::start(const StepInput& input, std::vector<Part> parts, const Read& read) {
  const auto begin = std::chrono::steady_clock::now();
  Step& step = steps_[static_cast<std::size_t>(started_++ % 2)];
  step.input = input;
  step.parts = std::move(parts);
  make_room(step.parts.size());
  lane_.begin_step();
  send(step, read);
  const double seconds = seconds_since(begin);
  launch(step);
  step.found = lane_.receive(found_.raw(), found_.bytes());
  step.room = room_;
  step.done.record();
  return seconds;
}

GpuSteps::Result GpuSteps::finish() {
  Step& step = steps_[static_cast<std::size_t>(finished_++ % 2)];
  step.done.wait();
  const auto* verdict = static_cast<const Verdict*>(step.found);
  const auto* correct = reinterpret_cast<const std::int64_t*>(verdict + 1);
  return {&step.input, step.parts, reinterpret_cast<const float*>(correct + step.room), correct, verdict->squares};
}

void GpuSteps::compute_again(const Result& result, const Read& read) {
  const Step step{.input = *result.input,
                  .parts = {result.parts.begin(), result.parts.end()},
                  .done = DeviceEvent(model_.device())};
  finished_ = started_;
  lane_.wait();
  lane_.begin_step();
  send(step, read);
  compute(step);
  device_memory::clear(found_.raw(), found_.bytes(), model_.device());
  lane_.wait();
}

// The verdict is kept from step to step: what has gone bad stays that.
void GpuSteps::make_room(std::size_t parts) {
  if (static_cast<std::int64_t>(parts) <= room_) return;
  lane_.wait();
  room_ = static_cast<std::int64_t>(parts);
  const std::int64_t bytes = static_cast<std::int64_t>(sizeof(Verdict)) +
                             room_ * static_cast<std::int64_t>(sizeof(std::int64_t) + sizeof(float));
  Tensor larger = Tensor::zeros({bytes}, DType::u8, model_.device());
  if (found_.defined())
    device_memory::copy(larger.raw(), larger.device(), found_.raw(), found_.device(), sizeof(Verdict));
  found_ = larger;
  ++version_;
}

void GpuSteps::send(const Step& step, const Read& read) {
  send_numbers(step.input);
  batches_.clear();
  for (const Part& part : step.parts) {
    if (part.range.size() == 0 || resident_ == nullptr) {
      batches_.push_back(part.range.size() == 0 ? data::Batch{} : lane_.send(read(part.range)));
      continue;
    }
    const auto samples = step.input.batch.subspan(static_cast<std::size_t>(part.range.begin),
                                                  static_cast<std::size_t>(part.range.size()));
    batches_.push_back({.images = resident_->send_draws(lane_, samples, options_.seed, step.input.epoch),
                        .labels = {},
                        .partner_labels = {},
                        .weights = {}});
  }
}

void GpuSteps::send_numbers(const StepInput& input) {
  const auto count = static_cast<double>(input.batch.size());
  const Numbers numbers{
      .update = optimizer_.numbers_of(
          {.statistic_scale = 1 / count, .learning_rate = input.learning_rate, .step = input.step + 1}),
      .rule = {count, options_.clip_norm},
      .step = input.step};
  static_assert(std::is_trivially_copyable_v<Numbers>);
  Tensor bytes = Tensor::empty({static_cast<std::int64_t>(sizeof(Numbers))}, DType::u8);
  std::memcpy(bytes.raw(), &numbers, sizeof(Numbers));
  numbers_ = lane_.send(bytes);
}

void GpuSteps::launch(const Step& step) {
  const Kind kind{std::ssize(step.input.batch), version_ + lane_.version()};
  in_a_row_ = kind == last_ ? in_a_row_ + 1 : 0;
  last_ = kind;
  if (graph_.recorded() && kind == recorded_) return graph_.launch();
  if (options_.record && in_a_row_ >= kWarmUp && kind != refused_) {
    recorded_ = kind;
    if (graph_.record([&] { compute(step); })) return graph_.launch();
    clear_tape();
    refused_ = kind;
  }
  compute(step);
}

void GpuSteps::compute(const Step& step) {
  const Device gpu = model_.device();
  {
    const ops::CastOnce parameters(model_.parameters().buffer(), options_.precision);
    for (std::size_t part = 0; part < step.parts.size(); ++part) compute_part(step, part);
  }
  std::vector<const float*> starts;
  for (const nn::Arena& gradient : gradients_) starts.push_back(gradient.buffer().data());
  float* sum = gradients_[0].buffer().data();
  if (starts.size() > 1)
    kTreeSum.on(gpu)(starts.data(), static_cast<int>(starts.size()), 0, model_.layout().elements(), sum);
  const std::int64_t ranges = nn::square_sum_parts(model_.layout());
  const Tensor squares = Tensor::empty({ranges}, DType::i64, gpu);  // room for as many doubles
  nn::square_sums_on_gpu(gradients_[0], static_cast<double*>(squares.raw()));
  const auto* numbers = static_cast<const Numbers*>(numbers_.raw());
  kJudge.on(gpu)(static_cast<const double*>(squares.raw()), ranges, losses(), std::ssize(step.parts), &numbers->rule,
                 verdict());
  optimizer_.update_from_memory(model_.parameters().buffer().data(), sum, &numbers->update, verdict());
}

void GpuSteps::compute_part(const Step& step, std::size_t part) {
  const std::int64_t shard = step.parts[part].shard;
  if (part == 0 || step.parts[part - 1].shard != shard)
    model_.bind_gradients(gradients_[static_cast<std::size_t>(shard)]);
  if (step.parts[part].range.size() > 0) {
    compute_batch(step, part);
  } else {
    device_memory::clear(losses() + part, sizeof(float), model_.device());
    device_memory::clear(correct() + part, sizeof(std::int64_t), model_.device());
  }
  if (part + 1 == step.parts.size() || step.parts[part + 1].shard != shard) model_.complete_gradients();
}

void GpuSteps::compute_batch(const Step& step, std::size_t part) {
  const Device gpu = model_.device();
  const data::Batch batch = resident_ == nullptr ? batches_[part] : resident_->prepare(batches_[part].images);
  const Tensor logits =
      model_.forward(batch.images, {.training = true,
                                    .seed = options_.seed,
                                    .step = step.input.step,
                                    .step_in_memory = &static_cast<const Numbers*>(numbers_.raw())->step,
                                    .first_sample = step.parts[part].range.begin,
                                    .precision = options_.precision});
  const Tensor loss = ops::cross_entropy(logits, batch.labels, static_cast<float>(options_.label_smoothing),
                                         {batch.partner_labels, batch.weights});
  device_memory::copy_async(losses() + part, gpu, loss.raw(), gpu, loss.bytes());
  const Tensor right = ops::correct_count(logits, batch.labels);
  device_memory::copy_async(correct() + part, gpu, right.raw(), gpu, right.bytes());
  backward(loss);
}

}  // namespace lockring::app
