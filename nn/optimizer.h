// Optimizers: what moves the parameters, given the sum of all replicas' gradients.
//
// An optimizer owns its state, arenas of the parameters' layout that are made once. It works on ranges of the arena, so
// that each replica updates a slice of the one shared copy of the parameters:
//
//   optimizer->update(parameters, {.begin = b, .end = e, .gradient = sums, .gradient_scale = clip / count, ...});
//
// Bits do not depend on how the arena is cut into ranges. By the kind of a segment: weights decay, biases do not, and
// statistics follow what training saw, running += 0.1 * (seen - running), whatever the optimizer.
//
// Formulas are PyTorch's. sgd: heavy ball, or Nesterov's form, with decay in the gradient. adam: Kingma and Ba, "Adam",
// ICLR 2015, epsilon outside the root and after the bias correction, decay in the gradient. adamw: the same with decay
// apart from the gradient, p *= 1 - lr * decay first (Loshchilov and Hutter, ICLR 2019).
#pragma once

#include "nn/arena.h"
#include "ops/optimizer_kernel.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lockring::nn {

struct OptimizerOptions {
  std::string name = "sgd";
  double momentum = 0;  // sgd
  bool nesterov = false;
  double beta1 = 0.9;  // adam, adamw
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double ema_decay = 0;  // 0: no average of the parameters is kept
};

// One step's update of a range.
struct Update {
  std::int64_t begin = 0;  // elements of the arena; multiples of 16
  std::int64_t end = 0;
  const float* gradient = nullptr;  // start of the arena of summed gradients
  double gradient_scale = 1;        // one over the global count, times the clip factor
  double statistic_scale = 1;       // the same without the clip factor
  double learning_rate = 0;
  std::int64_t step = 1;  // counts from 1
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // Moves [begin, end) of the arena that starts at `parameters`, and the state. Threads may call it at once for ranges
  // that do not overlap.
  void update(float* parameters, const Update& update) const;

  // On a GPU, in two parts: the numbers of a step, and the whole arena's update with numbers that lie in the GPU's
  // memory, and a verdict on its gradient there. The numbers' gradient scale is then without effect.
  ArenaStep numbers_of(const Update& update) const;
  void update_from_memory(float* parameters, const float* gradient, const ArenaStep* numbers,
                          const Verdict* verdict) const;

  // Everything that a resumed run needs besides the parameters: "momentum", "adam_m", "adam_v", "ema".
  const std::vector<NamedArena>& state() const { return state_; }
  // The exponential moving average of all parameters, statistics too; undefined without ema_decay. It starts as the
  // parameters. Its decay at step t is at most (1 + t) / (10 + t), so that the early steps are soon forgotten.
  const Arena& ema() const { return ema_; }

 protected:
  Optimizer(OptimizerOptions options, const Arena& parameters);
  const OptimizerOptions& options() const { return options_; }
  Device device() const { return device_; }
  // New state, zero, of the parameters' layout. Its buffer never moves.
  float* add_state(std::string name);

 private:
  // On a GPU.
  void update_arena(float* parameters, const float* gradient, const ArenaStep* numbers, const Verdict* verdict,
                    std::int64_t begin, std::int64_t end) const;
  virtual void add_rules(ArenaStep& numbers, const Update& update) const = 0;
  virtual void add_buffers(ArenaBuffers& buffers) const = 0;
  // On the CPU: moves elements of one segment, weights or biases.
  virtual void move(float* parameters, std::int64_t begin, std::int64_t end, double weight_decay,
                    const Update& update) const = 0;
  double average_rate(std::int64_t step) const;
  void update_ema(const float* parameters, std::int64_t begin, std::int64_t end, std::int64_t step) const;

  OptimizerOptions options_;
  std::shared_ptr<const ArenaLayout> layout_;
  Device device_;
  std::vector<NamedArena> state_;
  Arena ema_;
  Tensor kinds_;    // on a GPU: of the arena's elements
  Tensor numbers_;  // on a GPU: a place for those of update()
};

// For parameters that already have the values to start from. Throws Error{usage} on an unknown name (with the nearest
// one) or an option out of range.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, const Arena& parameters);
const std::vector<std::string>& optimizer_names();

}  // namespace lockring::nn
