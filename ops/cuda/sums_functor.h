// Sums in double precision and a fixed order, in two or three passes: no atomics, so the same bits again and again.
//
// What is summed is a functor of the place, value(row, channel) or value(i), and what becomes of a sum is another,
// finish(channel, sum) or finish(sum): so a sum reads its input once, whatever it is made of.
#pragma once

#include "core/cuda/host_device.h"

#include <cstdint>

namespace lockring::kernels::cuda {

// Index chunk * channels + channel: the sum over the chunk's rows.
template <class Value>
struct ChunkSums {
  Value value;
  std::int64_t rows, channels, chunk;
  double* partial;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t first = i / channels * chunk;
    const std::int64_t last = first + chunk < rows ? first + chunk : rows;
    double sum = 0;
    for (std::int64_t row = first; row < last; ++row) sum += value(row, i % channels);
    partial[i] = sum;
  }
};

// Index channel: over the chunks.
template <class Finish>
struct FinishColumns {
  const double* partial;
  std::int64_t chunks, channels;
  Finish finish;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t channel) const {
    double sum = 0;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) sum += partial[chunk * channels + channel];
    finish(channel, sum);
  }
};

// Index lane: every `lanes`-th value, so that neighbours read neighbours.
template <class Value>
struct LaneSums {
  Value value;
  std::int64_t count, lanes;
  double* partial;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t lane) const {
    double sum = 0;
    for (std::int64_t i = lane; i < count; i += lanes) sum += value(i);
    partial[lane] = sum;
  }
};

struct Partial {
  const double* partial;
  LOCKRING_HOST_DEVICE double operator()(std::int64_t i) const { return partial[i]; }
};

// Index 0 alone.
template <class Finish>
struct FinishTotal {
  const double* partial;
  std::int64_t count;
  Finish finish;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t) const {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += partial[i];
    finish(sum);
  }
};

// What most sums end as.
struct StoreSums {
  float* sums;
  bool accumulate;
  LOCKRING_HOST_DEVICE void operator()(std::int64_t channel, double sum) const {
    sums[channel] = static_cast<float>(accumulate ? sums[channel] + sum : sum);
  }
};

}  // namespace lockring::kernels::cuda
