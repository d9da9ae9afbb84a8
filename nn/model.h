// A module together with the arena that holds its parameters.
//
// In training each replica has a Model of its own on one shared parameter arena, and gradient arenas of its own. In
// serving one Model is shared by all threads.
#pragma once

#include "nn/arena.h"
#include "nn/module.h"

#include <cstdint>
#include <memory>

namespace lockring::nn {

class Model {
 public:
  // New parameters in `memory` (arena.h), initialised from `seed`; parameter i draws from a stream of its own.
  Model(std::unique_ptr<Module> root, std::uint64_t seed, ArenaMemory memory = {});
  // On parameters that exist (another replica's). Throws Error{usage} if their layout is not this module's.
  Model(std::unique_ptr<Module> root, Arena parameters);
  // On a copy of another's parameters, on any device, which this waits for. Throws as above.
  Model(std::unique_ptr<Module> root, const Model& other, Device device);

  // x and the result are of float32, whatever the context's precision.
  Tensor forward(const Tensor& x, const Context& context = {}) const;

  // Where the parameters lie and the model computes.
  Device device() const { return parameters_.buffer().device(); }

  // Logits without gradients, `rows` images at a time, so that their activations stay in a CPU's cache; 0 for all at
  // once, as GPUs always do. `x` lies on the model's device.
  Tensor infer(const Tensor& x, std::int64_t rows) const;

  Arena& parameters() { return parameters_; }
  const Arena& parameters() const { return parameters_; }
  const ArenaLayout& layout() const { return parameters_.layout(); }

  // The gradients of the coming steps gather in `gradients`, from scratch.
  void bind_gradients(const Arena& gradients);
  // Sets to zero what no gradient has reached since bind_gradients; the arena is then complete.
  void complete_gradients();
  // To be called when the parameters have changed, before the next forward.
  void refresh(Purpose purpose = Purpose::inference) { root_->refresh(purpose); }

 private:
  void bind_values();

  std::unique_ptr<Module> root_;
  Arena parameters_;
  std::vector<Parameter*> in_order_;
};

// The path of the first layer whose output on `x` is not finite, or "" if none is: names what diverged.
std::string first_bad_layer(const Model& model, const Tensor& x, Context context);

}  // namespace lockring::nn
