#include "apps/train/trace.h"

#include "core/autograd.h"
#include "core/device_memory.h"

#include <algorithm>
#include <array>
#include <map>

namespace lockring::app {
namespace {

// By StepPart.
constexpr std::array<std::string_view, 8> kNames = {"data",     "forward",   "loss",           "backward",
                                                    "exchange", "optimizer", "weight packing", "waiting"};
constexpr int kNoLayer = -1;

}  // namespace

std::string_view name_of(StepPart part) { return kNames[static_cast<std::size_t>(part)]; }

// The spans of one replica.
class alignas(64) TraceLane {
 public:
  using Clock = std::chrono::steady_clock;

  struct Span {
    StepPart part;
    int layer;
    Clock::time_point begin, end;
  };

  explicit TraceLane(Device device)
      : device_(device),
        observer_([this](const std::string& path, const Tensor&) { end_layer(path); }),
        hook_([this](std::int64_t op) { end_op(op); }) {}

  void begin(Clock::time_point now) { last_ = now; }

  // Once what was asked of a GPU is done, so that its work counts where it was asked for.
  Clock::time_point now() const {
    device_memory::synchronize(device_);
    return Clock::now();
  }

  // Parts that follow themselves are one span; so is a layer and what its part does besides.
  void mark(StepPart part, int layer, Clock::time_point now) {
    const bool goes_on = !spans_.empty() && spans_.back().end == last_ && spans_.back().part == part &&
                         (spans_.back().layer == layer || layer == kNoLayer);
    if (goes_on) {
      spans_.back().end = now;
    } else {
      spans_.push_back({part, layer, last_, now});
    }
    last_ = now;
  }

  const nn::ForwardObserver* follow_forward() {
    ends_.clear();
    return &observer_;
  }

  void backward(const Tensor& loss) {
    struct Unhook {
      ~Unhook() { set_backward_hook({}); }
    } const unhook;
    set_backward_hook(hook_);
    lockring::backward(loss);
  }

  const std::vector<Span>& spans() const { return spans_; }
  std::string layer_name(int layer) const { return layer == kNoLayer ? "" : layers_[static_cast<std::size_t>(layer)]; }

 private:
  // A layer that has recorded nothing since the last one is a container, or free of cost.
  void end_layer(const std::string& path) {
    const std::int64_t ops = live_nodes();
    if (ops == (ends_.empty() ? 0 : ends_.back().ops)) return;
    const auto found = std::ranges::find(layers_, path);
    const int layer = static_cast<int>(found - layers_.begin());
    if (found == layers_.end()) layers_.push_back(path);
    ends_.push_back({ops, layer});
    mark(StepPart::forward, layer, now());
  }

  // Ops after the last layer are the loss's.
  void end_op(std::int64_t op) {
    const auto end = std::ranges::find_if(ends_, [&](const LayerEnd& e) { return op < e.ops; });
    if (end == ends_.end()) {
      mark(StepPart::loss, kNoLayer, now());
    } else {
      mark(StepPart::backward, end->layer, now());
    }
  }

  struct LayerEnd {
    std::int64_t ops;  // on the tape at its end
    int layer;
  };

  const Device device_;
  nn::ForwardObserver observer_;
  BackwardHook hook_;
  Clock::time_point last_{};
  std::vector<Span> spans_;
  std::vector<std::string> layers_;  // all that were seen
  std::vector<LayerEnd> ends_;       // of the forward under way
};

Trace::Trace(int replicas, const std::vector<Device>& devices) {
  for (int replica = 0; replica < replicas; ++replica)
    lanes_.push_back(std::make_unique<TraceLane>(devices[static_cast<std::size_t>(replica) % devices.size()]));
}
Trace::~Trace() = default;

void Trace::begin_step(std::int64_t number) {
  const Clock::time_point now = Clock::now();
  if (steps_.empty()) started_ = now;
  const double begin = std::chrono::duration<double, std::micro>(now - started_).count();
  steps_.push_back({number, begin, begin});
  for (const auto& lane : lanes_) lane->begin(now);
}

void Trace::end_step() {
  const Clock::time_point now = Clock::now();
  for (const auto& lane : lanes_) lane->mark(StepPart::waiting, kNoLayer, now);
  steps_.back().end = std::chrono::duration<double, std::micro>(now - started_).count();
}

void Trace::mark(int replica, StepPart part) { lanes_[replica]->mark(part, kNoLayer, lanes_[replica]->now()); }

const nn::ForwardObserver* Trace::follow_forward(int replica) { return lanes_[replica]->follow_forward(); }

void Trace::backward(int replica, const Tensor& loss) { lanes_[replica]->backward(loss); }

std::vector<Trace::Span> Trace::spans(int replica) const {
  const auto since_start = [&](Clock::time_point time) {
    return std::chrono::duration<double, std::micro>(time - started_).count();
  };
  const TraceLane& lane = *lanes_[replica];
  std::vector<Span> spans;
  for (const TraceLane::Span& span : lane.spans())
    spans.push_back({span.part, lane.layer_name(span.layer), since_start(span.begin), since_start(span.end)});
  return spans;
}

double Trace::step_microseconds() const {
  double sum = 0;
  for (const Step& step : steps_) sum += step.end - step.begin;
  return steps_.empty() ? 0 : sum / static_cast<double>(steps_.size());
}

std::vector<Trace::Share> Trace::shares() const {
  std::vector<std::vector<Share>> parts(kNames.size());  // each: the whole, then layers
  const double step = step_microseconds();
  const double count = static_cast<double>(steps_.size()) * replicas();
  const auto add = [&](std::vector<Share>& shares, const Span& span, const std::string& layer) {
    auto found = std::ranges::find(shares, layer, &Share::layer);
    if (found == shares.end()) found = shares.insert(shares.end(), {span.part, layer});
    found->microseconds += (span.end - span.begin) / count;
    found->fraction = found->microseconds / step;
  };
  for (int replica = 0; replica < replicas(); ++replica) {
    for (const Span& span : spans(replica)) {
      std::vector<Share>& shares = parts[static_cast<std::size_t>(span.part)];
      add(shares, span, "");
      if (!span.layer.empty()) add(shares, span, span.layer);
    }
  }
  std::vector<Share> all;
  for (const std::vector<Share>& shares : parts) all.insert(all.end(), shares.begin(), shares.end());
  return all;
}

}  // namespace lockring::app
