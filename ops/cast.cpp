#include "ops/cast.h"

#include "core/autograd.h"
#include "ops/cast_kernel.h"

namespace lockring::ops {
namespace {

constexpr Kernel<CastFn> kCast{"cast", nullptr, LOCKRING_CUDA_KERNEL(kernels::cuda::cast)};
constexpr Kernel<UseRoundedFn> kUseRounded{"cast", nullptr, LOCKRING_CUDA_KERNEL(kernels::cuda::use_rounded)};

}  // namespace

Tensor cast(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor y = Tensor::empty(x.shape(), dtype, x.device());
  kCast.on(x.device())(x.reals(), x.elements(), y.reals());

  if (needs_gradient(x))
    record(y, {&x}, [from = x.dtype()](const Tensor& dy, GradTargets to) { to[0].add(cast(dy, from)); });
  return y;
}

CastOnce::CastOnce(const Tensor& values, DType dtype) {
  if (values.dtype() == dtype) return;
  copy_ = cast(values.detach(), dtype);
  kUseRounded.on(copy_.device())(values.data(), values.elements(), copy_.raw());
}

CastOnce::~CastOnce() {
  if (copy_.defined()) kUseRounded.on(copy_.device())(nullptr, 0, nullptr);
}

}  // namespace lockring::ops
