// Between float32 and bfloat16, which GPUs compute with.
#pragma once

#include "core/tensor.h"

namespace lockring::ops {

// The values of x as `dtype`, rounded to the nearest; x itself if it is of that type. Differentiable; the gradient has
// x's type. Throws Error{device} on a CPU.
Tensor cast(const Tensor& x, DType dtype);

// While it lives, ops of this thread that want a part of `values` (parameters, float32) as `dtype` find it in a copy
// that is made here, where each would otherwise make its own in every call. Values must not change meanwhile. Does
// nothing if they are of that type. One at a time; throws as cast().
class CastOnce {
 public:
  CastOnce(const Tensor& values, DType dtype);
  ~CastOnce();
  CastOnce(const CastOnce&) = delete;
  CastOnce& operator=(const CastOnce&) = delete;

 private:
  Tensor copy_;
};

}  // namespace lockring::ops
