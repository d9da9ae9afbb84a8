#pragma once

#include "core/cuda/host_device.h"

#include <cstdint>

namespace lockring::kernels::cuda {

constexpr int kMostShards = 256;

// One index an element. Pairs are added as soon as both halves are there, so that a partial sum waits at each level.
struct TreeSum {
  const float* shards[kMostShards];
  int count;
  std::int64_t begin;
  float* out;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    float waiting[9];  // log2(kMostShards) + 1
    int levels = 0;
    for (int s = 0; s < count; ++s) {
      float sum = shards[s][begin + i];
      for (int done = s; done % 2 == 1; done /= 2) sum = waiting[--levels] + sum;
      waiting[levels++] = sum;
    }
    float sum = waiting[--levels];
    while (levels > 0) sum = waiting[--levels] + sum;
    out[begin + i] = sum;
  }
};

struct Square {
  const float* values;
  LOCKRING_HOST_DEVICE double operator()(std::int64_t i) const { return double{values[i]} * values[i]; }
};

struct StoreDouble {
  double* sum;
  LOCKRING_HOST_DEVICE void operator()(double value) const { *sum = value; }
};

}  // namespace lockring::kernels::cuda
