#include "ops/dropout_kernel.h"

#include "core/cuda/launch.h"
#include "ops/cuda/dropout_functor.h"

namespace lockring::kernels::cuda {

void dropout_key(std::uint64_t seed, const std::int64_t* step, std::uint32_t layer, std::uint64_t* key) {
  lockring::cuda::for_each_index(1, DropoutKey{seed, step, layer, key});
}

void dropout(ConstReals x, std::int64_t rows, std::int64_t columns, std::int64_t first_sample, std::uint64_t key,
             const std::uint64_t* key_in_memory, std::uint32_t threshold, float scale, Reals y) {
  const std::int64_t blocks = (columns + 3) / 4;
  lockring::cuda::with_type(x.dtype, [&](auto type) {
    using T = decltype(type);
    using lockring::cuda::elements;
    lockring::cuda::for_each_index(rows * blocks, Dropout<T>{elements<T>(x), columns, blocks, first_sample, key,
                                                             key_in_memory, threshold, scale, elements<T>(y)});
  });
}

}  // namespace lockring::kernels::cuda
