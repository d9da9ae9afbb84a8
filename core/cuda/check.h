// Calls of CUDA's libraries, checked: a failure is an Error{device} that carries the call and its place.
//
//   LOCKRING_CHECK_CUDA(cudaMalloc(&block, bytes));
//   "cudaMalloc(&block, bytes) failed at core/cuda/allocator.cpp:40: out of memory (cudaErrorMemoryAllocation)"
#pragma once

#include <cuda_runtime.h>

namespace lockring::cuda {

void check_call(cudaError_t status, const char* call, const char* file = __builtin_FILE(), int line = __builtin_LINE());
// For the other libraries, which name their errors themselves.
[[noreturn]] void fail_call(const char* call, const char* error, const char* file, int line);

#define LOCKRING_CHECK_CUDA(call) ::lockring::cuda::check_call(call, #call)

}  // namespace lockring::cuda
