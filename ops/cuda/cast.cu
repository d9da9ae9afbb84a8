#include "ops/cast_kernel.h"

#include "core/cuda/launch.h"
#include "ops/cuda/cast_functor.h"
#include "ops/cuda/operand.h"

namespace lockring::kernels::cuda {

using lockring::cuda::elements;
using lockring::cuda::for_each_index;
using lockring::cuda::with_pack_size;
using lockring::cuda::with_type;

void cast(ConstReals x, std::int64_t count, Reals y) {
  with_type(x.dtype, [&](auto from) {
    using From = decltype(from);
    with_type(y.dtype, [&](auto to) {
      using To = decltype(to);
      with_pack_size<float>(
          count,
          [&](auto size) {
            for_each_index(count / size, Cast<From, To, size>{elements<From>(x), elements<To>(y)});
          },
          elements<From>(x), elements<To>(y));
    });
  });
}

void add_cast(ConstReals x, std::int64_t count, bool accumulate, float* y) {
  with_type(x.dtype, [&](auto from) {
    using From = decltype(from);
    with_pack_size<float>(
        count,
        [&](auto size) {
          for_each_index(count / size, AddCast<From, size>{elements<From>(x), accumulate, y});
        },
        elements<From>(x), y);
  });
}

}  // namespace lockring::kernels::cuda
