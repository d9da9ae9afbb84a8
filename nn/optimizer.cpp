#include "nn/optimizer.h"

#include "core/error.h"
#include "core/text.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace lockring::nn {
namespace {

constexpr float kStatisticRate = 0.1F;
// Elements that a CPU updates at once, so that the average finds the new parameters in the cache.
constexpr std::int64_t kBlock = 8192;

class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, const Arena& parameters)
      : Optimizer(options, parameters), velocity_(options.momentum > 0 ? add_state("momentum") : nullptr) {}

 private:
  SgdRule rule(const Update& update, double weight_decay) const {
    return {.gradient_scale = static_cast<float>(update.gradient_scale),
            .learning_rate = static_cast<float>(update.learning_rate),
            .momentum = static_cast<float>(options().momentum),
            .weight_decay = static_cast<float>(weight_decay),
            .nesterov = options().nesterov};
  }
  void move(float* parameters, std::int64_t begin, std::int64_t end, double weight_decay,
            const Update& update) const override {
    kSgd.on()(rule(update, weight_decay), end - begin, update.gradient + begin,
              velocity_ == nullptr ? nullptr : velocity_ + begin, parameters + begin);
  }
  void add_rules(ArenaStep& numbers, const Update& update) const override {
    numbers.sgd_of[0] = rule(update, options().weight_decay);
    numbers.sgd_of[1] = rule(update, 0);
  }
  void add_buffers(ArenaBuffers& buffers) const override { buffers.first = velocity_; }

  float* velocity_;
};

class Adam final : public Optimizer {
 public:
  Adam(const OptimizerOptions& options, const Arena& parameters)
      : Optimizer(options, parameters),
        decoupled_(options.name == "adamw"),
        m_(add_state("adam_m")),
        v_(add_state("adam_v")) {}

 private:
  AdamRule rule(const Update& update, double weight_decay) const {
    const OptimizerOptions& o = options();
    const auto step = static_cast<double>(update.step);
    return {
        .gradient_scale = static_cast<float>(update.gradient_scale),
        .weight_decay = static_cast<float>(decoupled_ ? 0 : weight_decay),
        .keep = static_cast<float>(decoupled_ ? 1 - update.learning_rate * weight_decay : 1),
        .rate1 = static_cast<float>(1 - o.beta1),
        .beta2 = static_cast<float>(o.beta2),
        .rate2 = static_cast<float>(1 - o.beta2),
        .root_scale = static_cast<float>(1 / std::sqrt(1 - std::pow(o.beta2, step))),
        .step_size = static_cast<float>(update.learning_rate / (1 - std::pow(o.beta1, step))),
        .epsilon = static_cast<float>(o.epsilon),
    };
  }
  void move(float* parameters, std::int64_t begin, std::int64_t end, double weight_decay,
            const Update& update) const override {
    kAdam.on()(rule(update, weight_decay), end - begin, update.gradient + begin, m_ + begin, v_ + begin,
               parameters + begin);
  }
  void add_rules(ArenaStep& numbers, const Update& update) const override {
    numbers.adam = true;
    numbers.adam_of[0] = rule(update, options().weight_decay);
    numbers.adam_of[1] = rule(update, 0);
  }
  void add_buffers(ArenaBuffers& buffers) const override {
    buffers.first = m_;
    buffers.second = v_;
  }

  bool decoupled_;
  float* m_;
  float* v_;
};

void check_options(const OptimizerOptions& o) {
  const auto in_unit = [](double value) { return value >= 0 && value < 1; };
  check(in_unit(o.momentum), "momentum must be in [0, 1), not {}", o.momentum);
  check(!o.nesterov || o.momentum > 0, "nesterov needs a momentum above 0");
  check(in_unit(o.beta1) && in_unit(o.beta2), "beta1 and beta2 must be in [0, 1), not {} and {}", o.beta1, o.beta2);
  check(static_cast<float>(o.epsilon) > 0, "epsilon must be above 0, not {}", o.epsilon);
  check(o.weight_decay >= 0 && std::isfinite(o.weight_decay), "weight decay must be at least 0, not {}",
        o.weight_decay);
  check(in_unit(o.ema_decay), "the decay of the averaged parameters must be in [0, 1), not {}", o.ema_decay);
}

ElementKind element_kind(ParameterKind kind) {
  if (kind == ParameterKind::statistic) return ElementKind::statistic;
  return kind == ParameterKind::weight ? ElementKind::weight : ElementKind::bias;
}

// Of every kElementsOfAKind elements of the arena; padding is of the segment before.
Tensor kinds_of(const ArenaLayout& layout, Device device) {
  Tensor kinds = Tensor::zeros({layout.elements() / kElementsOfAKind}, DType::u8);
  for (std::size_t i = 0; i < layout.segments().size(); ++i) {
    const Segment& segment = layout.segments()[i];
    std::fill(kinds.data<std::uint8_t>() + segment.offset / kElementsOfAKind,
              kinds.data<std::uint8_t>() + layout.padded_end(i) / kElementsOfAKind,
              static_cast<std::uint8_t>(element_kind(segment.kind)));
  }
  return kinds.to(device);
}

}  // namespace

Optimizer::Optimizer(OptimizerOptions options, const Arena& parameters)
    : options_(std::move(options)), layout_(parameters.shared_layout()), device_(parameters.buffer().device()) {
  if (device_.kind != DeviceKind::cpu) {
    kinds_ = kinds_of(*layout_, device_);
    numbers_ = Tensor::zeros({static_cast<std::int64_t>(sizeof(ArenaStep))}, DType::u8, device_);
  }
  if (options_.ema_decay == 0) return;
  add_state("ema");
  ema_ = state_.back().arena;
  ema_.buffer().copy_from(parameters.buffer());
}

float* Optimizer::add_state(std::string name) {
  state_.push_back({std::move(name), Arena(layout_)});
  return state_.back().arena.buffer().data();
}

void Optimizer::update(float* parameters, const Update& update) const {
  assert(update.begin % 16 == 0 && update.end % 16 == 0 && update.end <= layout_->elements());
  if (device_.kind != DeviceKind::cpu) {
    auto* numbers = static_cast<ArenaStep*>(numbers_.raw());
    kPutArenaStep.on(device_)(numbers_of(update), numbers);
    return update_arena(parameters, update.gradient, numbers, nullptr, update.begin, update.end);
  }
  const std::vector<Segment>& segments = layout_->segments();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    // With its padding: gradients, parameters and state are zero there and stay so.
    const std::int64_t end = std::min(layout_->padded_end(i), update.end);
    for (std::int64_t b = std::max(segments[i].offset, update.begin); b < end; b += kBlock) {
      const std::int64_t e = std::min(b + kBlock, end);
      if (segments[i].kind == ParameterKind::statistic) {
        kMovingAverage.on()(e - b, update.gradient + b, static_cast<float>(update.statistic_scale), kStatisticRate,
                            parameters + b);
      } else {
        move(parameters, b, e, segments[i].kind == ParameterKind::weight ? options_.weight_decay : 0, update);
      }
      if (ema_.defined()) update_ema(parameters, b, e, update.step);
    }
  }
}

double Optimizer::average_rate(std::int64_t step) const {
  const auto t = static_cast<double>(step);
  return 1 - std::min(options_.ema_decay, (1 + t) / (10 + t));
}

void Optimizer::update_ema(const float* parameters, std::int64_t begin, std::int64_t end, std::int64_t step) const {
  Tensor buffer = ema_.buffer();
  kMovingAverage.on()(end - begin, parameters + begin, 1, static_cast<float>(average_rate(step)),
                      buffer.data() + begin);
}

ArenaStep Optimizer::numbers_of(const Update& update) const {
  ArenaStep numbers{};
  numbers.statistic_scale = static_cast<float>(update.statistic_scale);
  numbers.statistic_rate = kStatisticRate;
  numbers.average_rate = static_cast<float>(average_rate(update.step));
  add_rules(numbers, update);
  return numbers;
}

void Optimizer::update_from_memory(float* parameters, const float* gradient, const ArenaStep* numbers,
                                   const Verdict* verdict) const {
  update_arena(parameters, gradient, numbers, verdict, 0, layout_->elements());
}

void Optimizer::update_arena(float* parameters, const float* gradient, const ArenaStep* numbers, const Verdict* verdict,
                             std::int64_t begin, std::int64_t end) const {
  Tensor average = ema_.buffer();
  ArenaBuffers buffers{.kinds = static_cast<const ElementKind*>(kinds_.raw()),
                       .gradient = gradient,
                       .parameters = parameters,
                       .first = nullptr,
                       .second = nullptr,
                       .average = average.data()};
  add_buffers(buffers);
  kMoveArena.on(device_)(numbers, verdict, buffers, begin, end);
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, const Arena& parameters) {
  check(std::ranges::count(optimizer_names(), options.name) == 1, "there is no optimizer '{}'{}; there are {}",
        options.name, did_you_mean(options.name, optimizer_names()), joined(optimizer_names()));
  check_options(options);
  if (options.name == "sgd") return std::make_unique<Sgd>(options, parameters);
  return std::make_unique<Adam>(options, parameters);
}

const std::vector<std::string>& optimizer_names() {
  static const std::vector<std::string> names{"sgd", "adam", "adamw"};
  return names;
}

}  // namespace lockring::nn
