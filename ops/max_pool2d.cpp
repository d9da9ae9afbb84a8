#include "ops/max_pool2d.h"

#include "core/autograd.h"
#include "ops/max_pool2d_kernel.h"

namespace lockring::ops {
namespace {

constexpr Kernel<MaxPoolFn> kForward{"max_pool2d", LOCKRING_SIMD_KERNELS(max_pool),
                                     LOCKRING_CUDA_KERNEL(kernels::cuda::max_pool)};
constexpr Kernel<MaxPoolGradientFn> kGradient{"max_pool2d", LOCKRING_SIMD_KERNELS(max_pool_gradient),
                                              LOCKRING_CUDA_KERNEL(kernels::cuda::max_pool_gradient)};

constexpr std::int64_t kLargestKernel = 16;  // so that a place within the window fits a byte

}  // namespace

Tensor max_pool2d(const Tensor& x, std::int64_t kernel, std::int64_t stride) {
  check(kernel <= kLargestKernel, "max_pool2d: the kernel {} is above {}", kernel, kLargestKernel);
  const PoolShape shape = pool_shape("max_pool2d", x.shape(), kernel, stride);
  Tensor y = Tensor::empty(shape.output(), x.dtype(), x.device());
  Tensor source = Tensor::empty(shape.output(), DType::u8, x.device());
  kForward.on(x.device())(shape, x.reals(), y.reals(), source.data<std::uint8_t>());

  if (needs_gradient(x)) {
    record(y, {&x}, [shape, source](const Tensor& dy, GradTargets to) {
      Tensor dx = Tensor::empty(shape.input(), dy.dtype(), dy.device());
      kGradient.on(dy.device())(shape, dy.reals(), source.data<std::uint8_t>(), dx.reals());
      to[0].add(std::move(dx));
    });
  }
  return y;
}

}  // namespace lockring::ops
