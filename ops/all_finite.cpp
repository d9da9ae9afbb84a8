#include "ops/all_finite.h"

#include "ops/all_finite_kernel.h"

namespace lockring::ops {
namespace {

constexpr Kernel<AllFiniteFn> kAllFinite{"all_finite", LOCKRING_SIMD_KERNELS(all_finite),
                                         LOCKRING_CUDA_KERNEL(kernels::cuda::all_finite)};

}  // namespace

bool all_finite(const Tensor& x) {
  Tensor finite = Tensor::empty({1}, DType::u8, x.device());
  kAllFinite.on(x.device())(x.reals(), x.elements(), finite.data<std::uint8_t>());
  return finite.item<std::uint8_t>() != 0;
}

}  // namespace lockring::ops
