#include "ops/all_finite_kernel.h"
#include "ops/cuda/all_finite_functor.h"
#include "ops/cuda/sums.h"

namespace lockring::kernels::cuda {

void all_finite(const float* values, std::int64_t count, std::uint8_t* finite) {
  total_sum(count, IsNotFinite{values}, StoreFinite{finite});
}

}  // namespace lockring::kernels::cuda
