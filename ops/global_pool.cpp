#include "ops/global_pool.h"

#include "core/autograd.h"
#include "ops/global_pool_kernel.h"

namespace lockring::ops {
namespace {

constexpr Kernel<GlobalMaxPoolFn> kMax{"global_max_pool", LOCKRING_SIMD_KERNELS(global_max_pool),
                                       LOCKRING_CUDA_KERNEL(kernels::cuda::global_max_pool)};
constexpr Kernel<GlobalMaxPoolGradientFn> kMaxGradient{"global_max_pool",
                                                       LOCKRING_SIMD_KERNELS(global_max_pool_gradient),
                                                       LOCKRING_CUDA_KERNEL(kernels::cuda::global_max_pool_gradient)};
constexpr Kernel<GlobalAvgPoolFn> kAvg{"global_avg_pool", LOCKRING_SIMD_KERNELS(global_avg_pool),
                                       LOCKRING_CUDA_KERNEL(kernels::cuda::global_avg_pool)};
constexpr Kernel<GlobalAvgPoolGradientFn> kAvgGradient{"global_avg_pool",
                                                       LOCKRING_SIMD_KERNELS(global_avg_pool_gradient),
                                                       LOCKRING_CUDA_KERNEL(kernels::cuda::global_avg_pool_gradient)};

GlobalPoolShape checked_shape(const char* op, const Tensor& x) {
  check(x.rank() == 4 && x.size(1) > 0 && x.size(2) > 0, "{}: x is [n, height, width, channels], not {}", op,
        x.shape());
  return {x.size(0), x.size(1) * x.size(2), x.size(3)};
}

}  // namespace

Tensor global_max_pool(const Tensor& x) {
  const GlobalPoolShape shape = checked_shape("global_max_pool", x);
  Tensor y = Tensor::empty({shape.images, shape.channels}, x.dtype(), x.device());
  Tensor source = Tensor::empty(y.shape(), DType::i32, x.device());
  kMax.on(x.device())(shape, x.reals(), y.reals(), source.data<std::int32_t>());

  if (needs_gradient(x)) {
    record(y, {&x}, [shape, source, from = x.shape()](const Tensor& dy, GradTargets to) {
      Tensor dx = Tensor::empty(from, dy.dtype(), dy.device());
      kMaxGradient.on(dy.device())(shape, dy.reals(), source.data<std::int32_t>(), dx.reals());
      to[0].add(std::move(dx));
    });
  }
  return y;
}

Tensor global_avg_pool(const Tensor& x) {
  const GlobalPoolShape shape = checked_shape("global_avg_pool", x);
  Tensor y = Tensor::empty({shape.images, shape.channels}, x.dtype(), x.device());
  kAvg.on(x.device())(shape, x.reals(), y.reals());

  if (needs_gradient(x)) {
    record(y, {&x}, [shape, from = x.shape()](const Tensor& dy, GradTargets to) {
      Tensor dx = Tensor::empty(from, dy.dtype(), dy.device());
      kAvgGradient.on(dy.device())(shape, dy.reals(), dx.reals());
      to[0].add(std::move(dx));
    });
  }
  return y;
}

}  // namespace lockring::ops
