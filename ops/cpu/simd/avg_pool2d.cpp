#include "ops/avg_pool2d_kernel.h"

#include "ops/cpu/simd/vector.h"

namespace lockring::kernels::cpu::LOCKRING_ISA {

void avg_pool(const PoolShape& s, const float* x, float* y) {
  const std::int64_t row = s.width * s.channels;
  const float share = 1.0F / static_cast<float>(s.kernel * s.kernel);
  for (std::int64_t image = 0; image < s.n; ++image, x += s.height * row) {
    for (std::int64_t i = 0; i < s.out_height * s.out_width; ++i, y += s.channels) {
      const float* window = x + i / s.out_width * s.stride * row + i % s.out_width * s.stride * s.channels;
      for (std::int64_t c = 0; c < s.channels; c += kLanes) {
        Vector sum = {};
        for (std::int64_t ky = 0; ky < s.kernel; ++ky)
          for (std::int64_t kx = 0; kx < s.kernel; ++kx)
            sum += load(window + ky * row + kx * s.channels + c, s.channels - c);
        store(y + c, sum * share, s.channels - c);
      }
    }
  }
}

void avg_pool_gradient(const PoolShape& s, const float* dy, float* dx) {
  const std::int64_t row = s.width * s.channels;
  const float share = 1.0F / static_cast<float>(s.kernel * s.kernel);
  for (std::int64_t i = 0; i < s.n * s.height * row; ++i) dx[i] = 0;
  for (std::int64_t image = 0; image < s.n; ++image, dx += s.height * row) {
    for (std::int64_t i = 0; i < s.out_height * s.out_width; ++i, dy += s.channels) {
      float* window = dx + i / s.out_width * s.stride * row + i % s.out_width * s.stride * s.channels;
      for (std::int64_t ky = 0; ky < s.kernel; ++ky) {
        for (std::int64_t kx = 0; kx < s.kernel; ++kx) {
          float* pixel = window + ky * row + kx * s.channels;
          for (std::int64_t c = 0; c < s.channels; ++c) pixel[c] += dy[c] * share;
        }
      }
    }
  }
}

}  // namespace lockring::kernels::cpu::LOCKRING_ISA
