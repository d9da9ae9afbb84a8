// The steps of a job whose only replica is on a GPU.
//
// The GPU itself finds out how far a step goes (clipping, and nothing at all once something is not finite), so the CPU
// need not wait in a step and can be one ahead: its numbers come back later. What a step asks of the GPU is recorded
// and launched as one (core/device_graph.h) as soon as its size has come up a few times; a step that cannot be recorded
// is asked for piece by piece, with the same results.
#pragma once

#include "apps/train/gpu_lane.h"
#include "apps/train/resident_data.h"
#include "core/device_event.h"
#include "core/device_graph.h"
#include "nn/model.h"
#include "nn/optimizer.h"

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace lockring::app {

// What a step is told. `batch` must live until the step is finished.
struct StepInput {
  std::span<const std::uint32_t> batch;
  std::int64_t epoch = 0;
  std::int64_t step = 0;
  double learning_rate = 0;
};

struct GpuStepsOptions {
  std::uint64_t seed = 0;
  DType precision = DType::f32;
  double label_smoothing = 0;
  double clip_norm = 0;
  bool record = true;  // false: every step is asked for piece by piece
};

// Of the thread that the model's GPU belongs to.
class GpuSteps {
 public:
  // All of it must outlive this. The gradients are one a shard, the first takes the sum. Without resident data
  // (null), `read` gives batches.
  GpuSteps(GpuStepsOptions options, nn::Model& model, const nn::Optimizer& optimizer, std::span<nn::Arena> gradients,
           GpuLane& lane, const ResidentData* resident);

  struct Part {
    std::int64_t shard;
    data::Range range;
  };
  using Read = std::function<data::Batch(data::Range)>;

  // Asks for a step; not for a third before the first is finished. `parts` are its micro-batches, shard by shard; a
  // shard without samples has an empty one. Returns the seconds that preparing its data took.
  double start(const StepInput& input, std::vector<Part> parts, const Read& read);
  // Whether steps are launched as they were recorded.
  bool recorded() const { return graph_.recorded(); }
  int under_way() const { return static_cast<int>(started_ - finished_); }

  struct Result {
    const StepInput* input;
    std::span<const Part> parts;
    const float* losses;  // of the parts
    const std::int64_t* correct;
    double squares;  // of the summed gradient
  };
  // Waits for the step that was started first. Of the result pointers live until another is started.
  Result finish();

  // After a finished step has turned out not to be finite: computes its gradient again, for the report, and forgets
  // what else is under way. Parameters are still what they were before that step.
  void compute_again(const Result& result, const Read& read);

 private:
  struct Step {
    StepInput input{};
    std::vector<Part> parts{};
    const void* found = nullptr;  // what came back: a Verdict, and what the parts found
    std::int64_t room = 0;        // of it, for so many parts
    DeviceEvent done;
  };
  // What the GPU reads.
  struct Numbers {
    ArenaStep update;
    VerdictRule rule;
    std::int64_t step;
  };
  // Sizes that a recording is of.
  struct Kind {
    std::int64_t batch = 0, version = 0;
    bool operator==(const Kind&) const = default;
  };

  void send(const Step& step, const Read& read);
  void send_numbers(const StepInput& input);
  void launch(const Step& step);
  void compute(const Step& step);
  void compute_part(const Step& step, std::size_t part);
  void compute_batch(const Step& step, std::size_t part);
  void make_room(std::size_t parts);
  Verdict* verdict() const { return static_cast<Verdict*>(found_.raw()); }
  std::int64_t* correct() const { return reinterpret_cast<std::int64_t*>(verdict() + 1); }
  float* losses() const { return reinterpret_cast<float*>(correct() + room_); }

  GpuStepsOptions options_;
  nn::Model& model_;
  const nn::Optimizer& optimizer_;
  std::span<nn::Arena> gradients_;
  GpuLane& lane_;
  const ResidentData* resident_;

  std::array<Step, 2> steps_;  // in turns
  std::int64_t started_ = 0, finished_ = 0;
  std::vector<data::Batch> batches_;  // of the step that is started; with resident data their draws, as images
  Tensor numbers_;
  Tensor found_;  // a Verdict, and for `room_` parts the right answers and losses
  std::int64_t room_ = 0;
  std::int64_t version_ = 0;
  DeviceGraph graph_;
  Kind recorded_, refused_, last_;
  int in_a_row_ = 0;
};

}  // namespace lockring::app
