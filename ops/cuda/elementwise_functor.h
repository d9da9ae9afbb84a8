// The elementwise ops, one index an element.
#pragma once

#include "core/cuda/host_device.h"

#include <cmath>
#include <cstdint>

namespace lockring::kernels::cuda {

struct Relu {
  const float* x;
  float* y;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const { y[i] = x[i] < 0 ? 0.0F : x[i]; }  // NaN passes
};

// The standard normal distribution and its density.
LOCKRING_HOST_DEVICE inline float normal_distribution(float x) { return 0.5F * erfcf(-0.707106781F * x); }
LOCKRING_HOST_DEVICE inline float normal_density(float x) { return 0.398942280F * expf(-0.5F * x * x); }

struct Gelu {
  const float* x;
  float* y;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const { y[i] = x[i] * normal_distribution(x[i]); }
};

struct GeluGradient {
  const float *x, *dy;
  float* dx;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    dx[i] = dy[i] * fmaf(x[i], normal_density(x[i]), normal_distribution(x[i]));
  }
};

struct Silu {
  const float* x;
  float* y;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const { y[i] = x[i] / (1.0F + expf(-x[i])); }
};

struct SiluGradient {
  const float *x, *dy;
  float* dx;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const float sigmoid = 1.0F / (1.0F + expf(-x[i]));
    dx[i] = dy[i] * sigmoid * fmaf(x[i], 1.0F - sigmoid, 1.0F);
  }
};

struct Add {
  const float *a, *b;
  float* y;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const { y[i] = a[i] + b[i]; }
};

}  // namespace lockring::kernels::cuda
