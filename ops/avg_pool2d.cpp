#include "ops/avg_pool2d.h"

#include "core/autograd.h"
#include "ops/avg_pool2d_kernel.h"

namespace lockring::ops {
namespace {

constexpr Kernel<AvgPoolFn> kForward{"avg_pool2d", LOCKRING_SIMD_KERNELS(avg_pool),
                                     LOCKRING_CUDA_KERNEL(kernels::cuda::avg_pool)};
constexpr Kernel<AvgPoolGradientFn> kGradient{"avg_pool2d", LOCKRING_SIMD_KERNELS(avg_pool_gradient),
                                              LOCKRING_CUDA_KERNEL(kernels::cuda::avg_pool_gradient)};

}  // namespace

Tensor avg_pool2d(const Tensor& x, std::int64_t kernel, std::int64_t stride) {
  const PoolShape shape = pool_shape("avg_pool2d", x.shape(), kernel, stride);
  Tensor y = Tensor::empty(shape.output(), x.dtype(), x.device());
  kForward.on(x.device())(shape, x.reals(), y.reals());

  if (needs_gradient(x)) {
    record(y, {&x}, [shape](const Tensor& dy, GradTargets to) {
      Tensor dx = Tensor::empty(shape.input(), dy.dtype(), dy.device());
      kGradient.on(dy.device())(shape, dy.reals(), dx.reals());
      to[0].add(std::move(dx));
    });
  }
  return y;
}

}  // namespace lockring::ops
