#include "ops/all_finite.h"

#include "ops/all_finite_kernel.h"

namespace lockring::ops {
namespace {

constexpr Kernel<AllFiniteFn> kAllFinite{"all_finite", LOCKRING_SIMD_KERNELS(all_finite),
                                         LOCKRING_CUDA_KERNEL(kernels::cuda::all_finite)};

}  // namespace

bool all_finite(const Tensor& x) { return kAllFinite.on(x.device())(x.data(), x.elements()); }

}  // namespace lockring::ops
