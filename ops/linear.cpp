#include "ops/linear.h"

#include "core/autograd.h"
#include "core/error.h"
#include "ops/count.h"
#include "ops/linear_kernel.h"
#include "ops/rows_kernel.h"
#include "ops/transpose_kernel.h"

namespace lockring::ops {
namespace {

constexpr Kernel<LinearForwardFn> kForward{"linear", kernels::cpu::linear_forward,
                                           LOCKRING_CUDA_KERNEL(kernels::cuda::linear_forward)};
constexpr Kernel<LinearInputGradientFn> kInputGradient{"linear", kernels::cpu::linear_input_gradient,
                                                       LOCKRING_CUDA_KERNEL(kernels::cuda::linear_input_gradient)};
constexpr Kernel<LinearWeightGradientFn> kWeightGradient{"linear", kernels::cpu::linear_weight_gradient,
                                                         LOCKRING_CUDA_KERNEL(kernels::cuda::linear_weight_gradient)};

void check_packed(const Tensor& packed, const Tensor& w) {
  check(packed.elements() == w.elements(), "linear: packed weights of shape {} do not fit weights {}", packed.shape(),
        w.shape());
}

LinearShape checked_shape(const Tensor& x, const Tensor& w, const Tensor& b, const Tensor& packed) {
  check(x.rank() == 2 && w.rank() == 2 && x.size(1) == w.size(1), "linear: x {} does not fit weights {}", x.shape(),
        w.shape());
  check(!b.defined() || b.shape() == Shape{w.size(0)}, "linear: bias {} does not fit weights {}", b.shape(), w.shape());
  if (packed.defined()) check_packed(packed, w);
  return {x.size(0), w.size(1), w.size(0)};
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& w, const Tensor& b, Activation activation, const Tensor& packed) {
  const LinearShape shape = checked_shape(x, w, b, packed);
  Tensor y = Tensor::empty({shape.n, shape.out}, x.dtype(), x.device());
  kForward.on(x.device())(shape, x.reals(), w.data(), packed.data(), b.data(), activation, y.reals());
  count_multiply_adds(shape.n * shape.in * shape.out);

  if (needs_gradient(x, w, b)) {
    const Tensor result = activation == Activation::relu ? y.detach() : Tensor();
    record(y, {&x, &w, &b}, [shape, x = x.detach(), w = w.detach(), result](const Tensor& dy, GradTargets to) {
      Tensor dz = dy;
      if (result.defined()) {
        dz = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
        kReluGradient.on(dy.device())(result.reals(), dy.reals(), dy.elements(), dz.reals());
      }
      const ConstReals gradient = std::as_const(dz).reals();
      if (to[0].wanted()) {
        Tensor dx = Tensor::empty(x.shape(), x.dtype(), x.device());
        kInputGradient.on(x.device())(shape, gradient, w.data(), dx.reals());
        to[0].add(std::move(dx));
      }
      if (to[1].wanted()) {
        auto [dw, accumulate] = to[1].slot();
        kWeightGradient.on(x.device())(shape, x.reals(), gradient, accumulate, dw.data());
      }
      if (to[2].wanted()) {
        auto [db, accumulate] = to[2].slot();
        kSumRows.on(x.device())(gradient, shape.n, shape.out, accumulate, db.data());
      }
    });
  }
  return y;
}

void pack_linear_weights(const Tensor& w, Tensor& packed) {
  check(w.rank() == 2, "linear: weights are [out, in], not of shape {}", w.shape());
  if (w.device().kind != DeviceKind::cpu) return;
  if (!packed.defined()) packed = Tensor::empty({w.size(1), w.size(0)});
  check_packed(packed, w);
  kTranspose.on()(w.data(), w.size(0), w.size(1), packed.data());
}

}  // namespace lockring::ops
