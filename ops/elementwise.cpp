#include "ops/elementwise.h"

#include "core/autograd.h"
#include "ops/elementwise_kernel.h"
#include "ops/rows_kernel.h"

namespace lockring::ops {
namespace {

constexpr Kernel<UnaryFn> kRelu{"relu", LOCKRING_SIMD_KERNELS(relu), LOCKRING_CUDA_KERNEL(kernels::cuda::relu)};
constexpr Kernel<UnaryFn> kGelu{"gelu", LOCKRING_SIMD_KERNELS(gelu), LOCKRING_CUDA_KERNEL(kernels::cuda::gelu)};
constexpr Kernel<UnaryGradientFn> kGeluGradient{"gelu", LOCKRING_SIMD_KERNELS(gelu_gradient),
                                                LOCKRING_CUDA_KERNEL(kernels::cuda::gelu_gradient)};
constexpr Kernel<UnaryFn> kSilu{"silu", LOCKRING_SIMD_KERNELS(silu), LOCKRING_CUDA_KERNEL(kernels::cuda::silu)};
constexpr Kernel<UnaryGradientFn> kSiluGradient{"silu", LOCKRING_SIMD_KERNELS(silu_gradient),
                                                LOCKRING_CUDA_KERNEL(kernels::cuda::silu_gradient)};
constexpr Kernel<BinaryFn> kAdd{"add", LOCKRING_SIMD_KERNELS(add), LOCKRING_CUDA_KERNEL(kernels::cuda::add)};

Tensor apply(const Kernel<UnaryFn>& kernel, const Tensor& x) {
  Tensor y = Tensor::empty(x.shape(), x.dtype(), x.device());
  kernel.on(x.device())(x.reals(), x.elements(), y.reals());
  return y;
}

// `saved` is what the gradient reads beside dy: the function's input or its result.
Tensor apply_gradient(const Kernel<UnaryGradientFn>& kernel, const Tensor& saved, const Tensor& dy) {
  Tensor dx = Tensor::empty(dy.shape(), dy.dtype(), dy.device());
  kernel.on(dy.device())(saved.reals(), dy.reals(), dy.elements(), dx.reals());
  return dx;
}

}  // namespace

Tensor relu(const Tensor& x) {
  Tensor y = apply(kRelu, x);

  if (needs_gradient(x))
    record(y, {&x},
           [y = y.detach()](const Tensor& dy, GradTargets to) { to[0].add(apply_gradient(kReluGradient, y, dy)); });
  return y;
}

Tensor gelu(const Tensor& x) {
  Tensor y = apply(kGelu, x);

  if (needs_gradient(x))
    record(y, {&x},
           [x = x.detach()](const Tensor& dy, GradTargets to) { to[0].add(apply_gradient(kGeluGradient, x, dy)); });
  return y;
}

Tensor silu(const Tensor& x) {
  Tensor y = apply(kSilu, x);

  if (needs_gradient(x))
    record(y, {&x},
           [x = x.detach()](const Tensor& dy, GradTargets to) { to[0].add(apply_gradient(kSiluGradient, x, dy)); });
  return y;
}

Tensor add(const Tensor& a, const Tensor& b) {
  check(a.shape() == b.shape(), "add: shapes {} and {} differ", a.shape(), b.shape());
  check(a.dtype() == b.dtype(), "add: types {} and {} differ", name_of(a.dtype()), name_of(b.dtype()));
  Tensor y = Tensor::empty(a.shape(), a.dtype(), a.device());
  kAdd.on(a.device())(a.reals(), b.reals(), a.elements(), y.reals());

  if (needs_gradient(a, b)) {
    record(y, {&a, &b}, [](const Tensor& dy, GradTargets to) {
      for (const GradTarget& target : to)
        if (target.wanted()) target.add(dy);
    });
  }
  return y;
}

}  // namespace lockring::ops
