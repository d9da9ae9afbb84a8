#include "ops/cuda/handles.h"

#include "core/cuda/stream.h"

#include <array>
#include <cstdlib>
#include <string_view>

namespace lockring::cuda {
namespace {

struct Handles {
  cudnnHandle_t cudnn = nullptr;
  cublasLtHandle_t cublas = nullptr;
};

struct ThreadHandles {
  std::array<Handles, kMostGpus> of_gpu;

  ThreadHandles() { current_stream(); }  // is made before and so ends after these
  ~ThreadHandles() {
    for (int gpu = 0; gpu < kMostGpus; ++gpu) {
      const auto [cudnn, cublas] = of_gpu[static_cast<std::size_t>(gpu)];
      if ((cudnn == nullptr && cublas == nullptr) || cudaSetDevice(gpu) != cudaSuccess) continue;
      if (cudnn != nullptr) cudnnDestroy(cudnn);
      if (cublas != nullptr) cublasLtDestroy(cublas);
    }
  }
};

Handles& handles() {
  thread_local ThreadHandles mine;
  return mine.of_gpu[static_cast<std::size_t>(current_gpu())];
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

bool uses_tf32() {
  static const bool answer = [] {
    const char* text = std::getenv("NVIDIA_TF32_OVERRIDE");
    return text == nullptr || std::string_view(text) != "0";
  }();
  return answer;
}

}  // namespace lockring::cuda
