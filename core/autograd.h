// Reverse-mode differentiation: an eager tape of closures, one tape a thread.
//
// An op computes its result, then writes its gradient directly below, in the same function:
//
//   Tensor y = ...;
//   if (needs_gradient({x, w}))
//     record(y, {x, w}, [x = x.detach(), w = w.detach()](const Tensor& dy, GradTargets to) {
//       if (to[0].wanted()) to[0].add(...);
//       if (to[1].wanted()) { auto [dw, accumulate] = to[1].slot(); ... }
//     });
//   return y;
//
// A closure captures detached tensors only: one that captured its own output's node would keep the graph alive.
// Nodes and closures lie in an arena that is reset after each backward, so the tape allocates nothing in a steady step.
// A thread sees only its own tape; a Leaf belongs to one thread at a time.
#pragma once

#include "core/tensor.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <new>
#include <span>
#include <utility>

namespace lockring {

// Where the gradient of one tensor gathers.
struct GradNode {
  Tensor grad;           // undefined until something arrives, or memory that a leaf was bound to
  bool written = false;  // grad holds a value
  bool leaf = false;
  bool bound = false;            // leaf: grad is memory it was bound to, shared by intent
  std::int64_t first_use = -1;   // leaf: index on the tape of the first op that read it
  std::uint64_t generation = 0;  // leaf: the tape that first_use refers to
  Shape shape;
  DType dtype = DType::f32;
  Device device;
};

// Memory for a gradient: write it (accumulate false) or add to it (accumulate true).
struct GradSlot {
  Tensor grad;
  bool accumulate;
};

// The gradient of one input of an op, as its closure sees it.
class GradTarget {
 public:
  explicit GradTarget(GradNode* node = nullptr) : node_(node) {}
  bool wanted() const { return node_ != nullptr; }
  // Memory of the input's shape to write or add the gradient to; marks it as written.
  GradSlot slot() const;
  // Adds a gradient that was computed into memory of its own; keeps that memory if it is the first.
  void add(Tensor gradient) const;

 private:
  GradNode* node_;
};
using GradTargets = std::span<const GradTarget>;

// A tensor whose gradient is wanted: a parameter, or an input under test. Neither copied nor moved, since the tape
// points at it; it must outlive the step. One that dies with ops of its thread still recorded clears the thread's tape.
class Leaf {
 public:
  Leaf() { node_.leaf = true; }
  explicit Leaf(const Tensor& value) : Leaf() { set_value(value); }
  ~Leaf();
  Leaf(const Leaf&) = delete;
  Leaf& operator=(const Leaf&) = delete;

  // The value; ops that read it record their gradient.
  const Tensor& tensor() const { return value_; }
  void set_value(const Tensor& value);
  // The gradients of coming steps gather in `memory` (a range of a gradient arena), the first overwriting it.
  void bind_gradient(Tensor memory);
  // The gathered gradient; undefined if none has arrived and none was bound.
  const Tensor& grad() const { return node_.grad; }
  bool has_gradient() const { return node_.written; }
  // Forgets the gathered gradient, keeping bound memory.
  void clear_gradient();
  // For values that travel as gradients do (batch-norm moments).
  GradSlot slot() { return GradTarget(&node_).slot(); }

 private:
  Tensor value_;
  GradNode node_;
};

// True if gradients are being recorded on this thread (the default) ...
bool grad_enabled();
// ... and at least one of the tensors wants one.
bool needs_gradient(std::initializer_list<const Tensor*> tensors);
template <class... Tensors>
bool needs_gradient(const Tensors&... tensors) {
  return needs_gradient({&tensors...});
}

// Records nothing while it lives, on this thread. Nests.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

// Runs the tape backward from `loss` (one element), leaves the gradients in the leaves and empties the tape.
// Throws Error{usage} if `loss` is not on this thread's tape.
void backward(const Tensor& loss);
// The same from any output, given the gradient that reaches it. Closures run with recording off; if one throws, the
// tape is emptied and gradients are incomplete.
void backward(const Tensor& output, const Tensor& gradient);
// Empties this thread's tape without running it: after an error, or a forward that needs no gradient after all.
void clear_tape();
// Nodes that live on this thread's tape now.
std::int64_t live_nodes();

// Called on this thread during backward as soon as the gradient of a leaf is complete; empty for none.
using GradientHook = std::function<void(const Tensor& gradient)>;
void set_gradient_hook(GradientHook hook);
// Called on this thread during backward after each op that was recorded, with its number on the tape (the live nodes
// there were before it); empty for none. Tells where the time of a backward goes.
using BackwardHook = std::function<void(std::int64_t op)>;
void set_backward_hook(BackwardHook hook);

namespace tape {  // how record() works

class Closure {
 public:
  virtual ~Closure() = default;
  virtual void run(const Tensor& gradient, GradTargets inputs) = 0;
};
// Memory on this thread's tape.
void* arena_allocate(std::size_t bytes, std::size_t alignment);
void append(Tensor& output, std::span<const Tensor* const> inputs, Closure* closure);

template <class F>
class ClosureOf final : public Closure {
 public:
  explicit ClosureOf(F f) : f_(std::move(f)) {}
  void run(const Tensor& gradient, GradTargets inputs) override { f_(gradient, inputs); }

 private:
  F f_;
};

}  // namespace tape

// Puts `output` on the tape; `f(dy, targets)` will be called with its gradient and a target for each input, in order.
template <class F>
void record(Tensor& output, std::initializer_list<const Tensor*> inputs, F f) {
  using Type = tape::ClosureOf<F>;
  static_assert(alignof(Type) <= alignof(std::max_align_t), "the tape's memory is not aligned so far");
  auto* closure = new (tape::arena_allocate(sizeof(Type), alignof(Type))) Type(std::move(f));
  tape::append(output, {inputs.begin(), inputs.size()}, closure);
}

}  // namespace lockring
