#pragma once

#include "core/cuda/map.h"

#include <cstdint>

namespace lockring::kernels::cuda {

using lockring::cuda::pack_at;
using lockring::cuda::pack_of;
using lockring::cuda::put_pack;
using lockring::cuda::to_float;

// One index kSize elements.
template <class From, class To, int kSize>
struct Cast {
  const From* x;
  To* y;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t pack) const {
    const auto read = pack_at<kSize>(x + pack * kSize);
    float values[kSize];
    for (int j = 0; j < kSize; ++j) values[j] = to_float(read.values[j]);
    put_pack(y + pack * kSize, pack_of<To>(values));
  }
};

// y (+)= x.
template <class From, int kSize>
struct AddCast {
  const From* x;
  bool accumulate;
  float* y;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t pack) const {
    const auto read = pack_at<kSize>(x + pack * kSize);
    auto sums = accumulate ? pack_at<kSize>(y + pack * kSize) : lockring::cuda::Pack<float, kSize>{};
    for (int j = 0; j < kSize; ++j) sums.values[j] += to_float(read.values[j]);
    put_pack(y + pack * kSize, sums);
  }
};

}  // namespace lockring::kernels::cuda
