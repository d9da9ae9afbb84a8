#include "ops/cuda/handles.h"

#include "core/cuda/stream.h"

#include <array>

namespace lockring::cuda {
namespace {

struct Handles {
  cudnnHandle_t cudnn = nullptr;
  cublasLtHandle_t cublas = nullptr;

  ~Handles() {
    if (cudnn != nullptr) cudnnDestroy(cudnn);
    if (cublas != nullptr) cublasLtDestroy(cublas);
  }
};

Handles& handles() {
  thread_local std::array<Handles, kMostGpus> mine;
  return mine[static_cast<std::size_t>(current_gpu())];
}

}  // namespace

cudnnHandle_t cudnn_handle() {
  Handles& mine = handles();
  if (mine.cudnn == nullptr) {
    LOCKRING_CHECK_CUDA(cudnnCreate(&mine.cudnn));
    LOCKRING_CHECK_CUDA(cudnnSetStream(mine.cudnn, current_stream()));
  }
  return mine.cudnn;
}

cublasLtHandle_t cublas_handle() {
  Handles& mine = handles();
  if (mine.cublas == nullptr) LOCKRING_CHECK_CUDA(cublasLtCreate(&mine.cublas));
  return mine.cublas;
}

}  // namespace lockring::cuda
