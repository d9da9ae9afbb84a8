// The smallest differentiable functions, for tests of the tape itself: each shows one way to hand on a gradient.
#pragma once

#include "core/autograd.h"

#include <functional>

namespace lockring {

// a * b element by element; writes or adds to slots.
inline Tensor toy_multiply(const Tensor& a, const Tensor& b) {
  const auto fill = [](GradSlot slot, const Tensor& dy, const Tensor& factor) {
    for (std::int64_t i = 0; i < dy.elements(); ++i) {
      const float before = slot.accumulate ? slot.grad.data()[i] : 0;
      slot.grad.data()[i] = before + dy.data()[i] * factor.data()[i];
    }
  };
  Tensor y = Tensor::empty(a.shape());
  for (std::int64_t i = 0; i < y.elements(); ++i) y.data()[i] = a.data()[i] * b.data()[i];
  if (needs_gradient(a, b))
    record(y, {&a, &b}, [a = a.detach(), b = b.detach(), fill](const Tensor& dy, GradTargets to) {
      if (to[0].wanted()) fill(to[0].slot(), dy, b);
      if (to[1].wanted()) fill(to[1].slot(), dy, a);
    });
  return y;
}

// a + b; hands its own gradient's memory on to both.
inline Tensor toy_add(const Tensor& a, const Tensor& b) {
  Tensor y = Tensor::empty(a.shape());
  for (std::int64_t i = 0; i < y.elements(); ++i) y.data()[i] = a.data()[i] + b.data()[i];
  if (needs_gradient(a, b))
    record(y, {&a, &b}, [](const Tensor& dy, GradTargets to) {
      for (const GradTarget& target : to)
        if (target.wanted()) target.add(dy);
    });
  return y;
}

// x, and calls `then` when the gradient passes.
inline Tensor toy_identity(const Tensor& x, std::function<void()> then) {
  Tensor y = x.clone();
  if (needs_gradient(x))
    record(y, {&x}, [then = std::move(then)](const Tensor& dy, GradTargets to) {
      then();
      to[0].add(dy);
    });
  return y;
}

}  // namespace lockring
