#include "ops/cast.h"

#include "core/autograd.h"
#include "ops/cast_kernel.h"

namespace lockring::ops {
namespace {

constexpr Kernel<CastFn> kCast{"cast", nullptr, LOCKRING_CUDA_KERNEL(kernels::cuda::cast)};

}  // namespace

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor y = Tensor::empty(x.shape(), dtype, x.device());
  kCast.on(x.device())(x.reals(), x.elements(), y.reals());

  if (needs_gradient(x))
    record(y, {&x}, [from = x.dtype()](const Tensor& dy, GradTargets to) { to[0].add(cast(dy, from)); });
  return y;
}

}  // namespace lockring::ops
