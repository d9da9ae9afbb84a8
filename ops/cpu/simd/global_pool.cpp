#include "ops/global_pool_kernel.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {

void global_max_pool(const GlobalPoolShape& s, const float* x, float* y, std::int32_t* source) {
  for (std::int64_t image = 0; image < s.images; ++image, y += s.channels, source += s.channels) {
    for (std::int64_t c = 0; c < s.channels; ++c) {
      y[c] = x[c];
      source[c] = 0;
    }
    for (std::int64_t pixel = 0; pixel < s.pixels; ++pixel, x += s.channels) {
      for (std::int64_t c = 0; c < s.channels; ++c) {
        const bool better = (x[c] > y[c]) | (x[c] != x[c]);
        y[c] = better ? x[c] : y[c];
        source[c] = better ? static_cast<std::int32_t>(pixel) : source[c];
      }
    }
  }
}

void global_max_pool_gradient(const GlobalPoolShape& s, const float* dy, const std::int32_t* source, float* dx) {
  for (std::int64_t image = 0; image < s.images; ++image, dy += s.channels, source += s.channels)
    for (std::int64_t pixel = 0; pixel < s.pixels; ++pixel, dx += s.channels)
      for (std::int64_t c = 0; c < s.channels; ++c) dx[c] = source[c] == pixel ? dy[c] : 0.0F;
}

void global_avg_pool(const GlobalPoolShape& s, const float* x, float* y) {
  const float share = 1.0F / static_cast<float>(s.pixels);
  for (std::int64_t image = 0; image < s.images; ++image, y += s.channels) {
    for (std::int64_t c = 0; c < s.channels; ++c) y[c] = 0;
    for (std::int64_t pixel = 0; pixel < s.pixels; ++pixel, x += s.channels)
      for (std::int64_t c = 0; c < s.channels; ++c) y[c] += x[c];
    for (std::int64_t c = 0; c < s.channels; ++c) y[c] *= share;
  }
}

void global_avg_pool_gradient(const GlobalPoolShape& s, const float* dy, float* dx) {
  const float share = 1.0F / static_cast<float>(s.pixels);
  for (std::int64_t image = 0; image < s.images; ++image, dy += s.channels)
    for (std::int64_t pixel = 0; pixel < s.pixels; ++pixel, dx += s.channels)
      for (std::int64_t c = 0; c < s.channels; ++c) dx[c] = dy[c] * share;
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
