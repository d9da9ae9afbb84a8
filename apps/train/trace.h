// Where the time of training steps goes.
//
// The time of each replica, from the beginning of a step to its end, is cut into spans without gaps: what ends a part
// of the step marks it, and the span runs from the mark before. So the parts add up to the step.
#pragma once

#include "core/tensor.h"
#include "nn/module.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockring::app {

enum class StepPart : std::uint8_t { data, forward, loss, backward, exchange, optimizer, packing, waiting };
std::string_view name_of(StepPart part);

class TraceLane;

// Steps are begun and ended by one thread; marks are made by each replica's own thread.
class Trace {
 public:
  struct Step {
    std::int64_t number;  // counts from 1
    double begin, end;    // microseconds since the first step's beginning
  };
  struct Span {
    StepPart part;
    std::string layer;  // or ""
    double begin, end;
  };
  // Mean over replicas and steps.
  struct Share {
    StepPart part;
    std::string layer;  // "" for the whole part
    double microseconds = 0;
    double fraction = 0;  // of the step
  };

  // Replicas have the devices in turn. Marks wait for a GPU, so steps that are traced take longer there.
  explicit Trace(int replicas, const std::vector<Device>& devices = {Device{}});
  ~Trace();

  void begin_step(std::int64_t number);
  void end_step();

  // The replica has just ended this part of the step.
  void mark(int replica, StepPart part);
  // For the coming forward of a micro-batch, which is then marked layer by layer; valid until the next one.
  const nn::ForwardObserver* follow_forward(int replica);
  // Runs backward(loss), marked by the layers of that forward.
  void backward(int replica, const Tensor& loss);

  int replicas() const { return static_cast<int>(lanes_.size()); }
  const std::vector<Step>& steps() const { return steps_; }
  std::vector<Span> spans(int replica) const;
  // Each part that occurs, in the order of StepPart, followed by its layers in the order that they come in.
  std::vector<Share> shares() const;
  double step_microseconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point started_;
  std::vector<Step> steps_;
  std::vector<std::unique_ptr<TraceLane>> lanes_;  // one a replica
};

// The trace in Chrome's trace event format (Google, "Trace Event Format"), for ui.perfetto.dev or chrome://tracing: one
// row a replica.
std::string chrome_trace(const Trace& trace);
// The shares as a table; `images` are those of a step.
std::string trace_table(const Trace& trace);

}  // namespace lockring::app
