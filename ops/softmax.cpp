#include "ops/softmax.h"

#include "core/autograd.h"
#include "ops/softmax_kernel.h"

namespace lockring::ops {
namespace {

constexpr Kernel<SoftmaxFn> kForward{"softmax", LOCKRING_SIMD_KERNELS(softmax),
                                     LOCKRING_CUDA_KERNEL(kernels::cuda::softmax)};
constexpr Kernel<SoftmaxGradientFn> kGradient{"softmax", LOCKRING_SIMD_KERNELS(softmax_gradient),
                                              LOCKRING_CUDA_KERNEL(kernels::cuda::softmax_gradient)};

}  // namespace

Tensor softmax(const Tensor& x) {
  check(x.rank() == 2 && x.size(1) > 0, "softmax: x is [n, channels], not {}", x.shape());
  Tensor y = Tensor::empty(x.shape(), DType::f32, x.device());
  kForward.on(x.device())(x.data(), x.size(0), x.size(1), y.data());

  if (needs_gradient(x)) {
    record(y, {&x}, [y = y.detach()](const Tensor& dy, GradTargets to) {
      Tensor dx = Tensor::empty(dy.shape(), DType::f32, dy.device());
      kGradient.on(dy.device())(y.data(), dy.data(), y.size(0), y.size(1), dx.data());
      to[0].add(std::move(dx));
    });
  }
  return y;
}

}  // namespace lockring::ops
