#include "ops/cast_kernel.h"

#include "core/cuda/launch.h"
#include "ops/cuda/cast_functor.h"
#include "ops/cuda/operand.h"

namespace lockring::kernels::cuda {

using lockring::cuda::elements;
using lockring::cuda::for_each_index;
using lockring::cuda::with_type;

void cast(ConstReals x, std::int64_t count, Reals y) {
  with_type(x.dtype, [&](auto from) {
    using From = decltype(from);
    with_type(y.dtype, [&](auto to) {
      using To = decltype(to);
      for_each_index(count, Cast<From, To>{elements<From>(x), elements<To>(y)});
    });
  });
}

void add_cast(ConstReals x, std::int64_t count, bool accumulate, float* y) {
  with_type(x.dtype, [&](auto from) {
    using From = decltype(from);
    for_each_index(count, AddCast<From>{elements<From>(x), accumulate, y});
  });
}

}  // namespace lockring::kernels::cuda
