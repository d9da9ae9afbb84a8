// The handles of cuDNN and cuBLASLt that the calling thread uses on its current GPU, made at first use.
#pragma once

#include "core/cuda/check.h"

#include <cublasLt.h>
#include <cudnn.h>

namespace lockring::cuda {

// Its stream is the thread's current one.
cudnnHandle_t cudnn_handle();
cublasLtHandle_t cublas_handle();
// Whether products of float32 may use TF32; NVIDIA_TF32_OVERRIDE=0 in the environment forbids it, as it does to the
// libraries, which are told all the same.
bool uses_tf32();

inline void check_call(cudnnStatus_t status, const char* call, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
  if (status != CUDNN_STATUS_SUCCESS) fail_call(call, cudnnGetErrorString(status), file, line);
}
inline void check_call(cublasStatus_t status, const char* call, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
  if (status != CUBLAS_STATUS_SUCCESS) fail_call(call, cublasLtGetStatusString(status), file, line);
}

}  // namespace lockring::cuda
