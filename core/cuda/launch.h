// How every kernel of our own runs: a functor called once for each index, by as many threads of the GPU as help.
//
//   struct Relu {
//     const float* x;
//     float* y;
//     LOCKRING_HOST_DEVICE void operator()(std::int64_t i) const { y[i] = x[i] < 0 ? 0 : x[i]; }
//   };
//   for_each_index(count, Relu{x, y});
//
// Calls run in any order and at once, so none may write what another reads or writes. A functor is copied to the GPU:
// it holds numbers and pointers to the GPU's memory, at most 4 KB of them.
#pragma once

#include "core/cuda/check.h"
#include "core/cuda/stream.h"

#include <algorithm>
#include <cstdint>

namespace lockring::cuda {

template <class F>
__global__ void run_for_each_index(F f, std::int64_t count) {
  const auto threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (auto i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) f(i);
}

// On the thread's stream of its current GPU; returns before it has run.
template <class F>
void for_each_index(std::int64_t count, const F& f) {
  constexpr std::int64_t kThreads = 256;
  constexpr std::int64_t kMostBlocks = std::int64_t{1} << 16;  // from there on threads take several indices
  if (count == 0) return;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMostBlocks)));
  config.blockDim = dim3(static_cast<unsigned>(std::min(count, kThreads)));
  config.stream = current_stream();
  LOCKRING_CHECK_CUDA(cudaLaunchKernelEx(&config, run_for_each_index<F>, f, count));
}

}  // namespace lockring::cuda
