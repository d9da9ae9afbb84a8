// Pooling over whole images: one index kSize neighbouring channels, of an image forward, of a pixel backward.
#pragma once

#include "ops/cuda/pool_functor.h"
#include "ops/global_pool_kernel.h"

#include <cstdint>

namespace lockring::kernels::cuda {

// Where the first pixel of element i of the result lies, in x.
LOCKRING_HOST_DEVICE inline std::int64_t first_pixel(const GlobalPoolShape& s, std::int64_t i) {
  return i / s.channels * s.pixels * s.channels + i % s.channels;
}
// The element of the result that element i of x belongs to.
LOCKRING_HOST_DEVICE inline std::int64_t pooled_of(const GlobalPoolShape& s, std::int64_t i) {
  return i / (s.pixels * s.channels) * s.channels + i % s.channels;
}

template <class T, int kSize>
struct GlobalMaxPool {
  GlobalPoolShape s;
  const T* x;
  T* y;
  std::int32_t* source;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t pack) const {
    const std::int64_t i = pack * kSize;
    const T* values = x + first_pixel(s, i);
    Best<T, kSize, std::int32_t> best;
    best.begin(pack_at<kSize>(values));
    for (std::int64_t pixel = 1; pixel < s.pixels; ++pixel)
      best.see(pack_at<kSize>(values + pixel * s.channels), static_cast<std::int32_t>(pixel));
    put_pack(y + i, pack_of<T>(best.value));
    put_pack(source + i, best.from);
  }
};

template <class T, int kSize>
struct GlobalMaxPoolGradient {
  GlobalPoolShape s;
  const T* dy;
  const std::int32_t* source;
  T* dx;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t pack) const {
    const std::int64_t i = pack * kSize;
    const std::int64_t pooled = pooled_of(s, i);
    const std::int64_t pixel = i / s.channels % s.pixels;
    const auto from = pack_at<kSize>(source + pooled);
    const auto values = pack_at<kSize>(dy + pooled);
    Pack<T, kSize> result{};
    for (int j = 0; j < kSize; ++j)
      if (from.values[j] == pixel) result.values[j] = values.values[j];
    put_pack(dx + i, result);
  }
};

template <class T, int kSize>
struct GlobalAvgPool {
  GlobalPoolShape s;
  const T* x;
  T* y;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t pack) const {
    const T* values = x + first_pixel(s, pack * kSize);
    float sums[kSize] = {};
    for (std::int64_t pixel = 0; pixel < s.pixels; ++pixel) add_pack(pack_at<kSize>(values + pixel * s.channels), sums);
    put_pack(y + pack * kSize, mean_of<T>(sums, s.pixels));
  }
};

template <class T, int kSize>
struct GlobalAvgPoolGradient {
  GlobalPoolShape s;
  const T* dy;
  T* dx;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t pack) const {
    float parts[kSize] = {};
    add_pack(pack_at<kSize>(dy + pooled_of(s, pack * kSize)), parts);
    put_pack(dx + pack * kSize, mean_of<T>(parts, s.pixels));
  }
};

}  // namespace lockring::kernels::cuda
