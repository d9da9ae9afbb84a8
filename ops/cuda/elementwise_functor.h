// The elementwise ops, for map().
#pragma once

#include "core/cuda/map.h"

#include <cmath>

namespace lockring::kernels::cuda {

using lockring::cuda::RowColumn;

struct Relu {
  LOCKRING_HOST_DEVICE float operator()(RowColumn, float x) const { return x < 0 ? 0.0F : x; }  // NaN passes
};

// The standard normal distribution and its density.
LOCKRING_HOST_DEVICE inline float normal_distribution(float x) { return 0.5F * erfcf(-0.707106781F * x); }
LOCKRING_HOST_DEVICE inline float normal_density(float x) { return 0.398942280F * expf(-0.5F * x * x); }

struct Gelu {
  LOCKRING_HOST_DEVICE float operator()(RowColumn, float x) const { return x * normal_distribution(x); }
};

struct GeluGradient {
  LOCKRING_HOST_DEVICE float operator()(RowColumn, float x, float dy) const {
    return dy * fmaf(x, normal_density(x), normal_distribution(x));
  }
};

struct Silu {
  LOCKRING_HOST_DEVICE float operator()(RowColumn, float x) const { return x / (1.0F + expf(-x)); }
};

struct SiluGradient {
  LOCKRING_HOST_DEVICE float operator()(RowColumn, float x, float dy) const {
    const float sigmoid = 1.0F / (1.0F + expf(-x));
    return dy * sigmoid * fmaf(x, 1.0F - sigmoid, 1.0F);
  }
};

struct Add {
  LOCKRING_HOST_DEVICE float operator()(RowColumn, float a, float b) const { return a + b; }
};

}  // namespace lockring::kernels::cuda
