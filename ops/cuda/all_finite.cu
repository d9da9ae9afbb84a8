#include "ops/all_finite_kernel.h"
#include "ops/cuda/all_finite_functor.h"
#include "ops/cuda/sums.h"

namespace lockring::kernels::cuda {

void all_finite(ConstReals values, std::int64_t count, std::uint8_t* finite) {
  lockring::cuda::with_type(values.dtype, [&](auto type) {
    using T = decltype(type);
    total_sum(count, IsNotFinite<T>{lockring::cuda::elements<T>(values)}, StoreFinite{finite});
  });
}

}  // namespace lockring::kernels::cuda
