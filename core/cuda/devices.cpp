#include "core/devices.h"

#include "core/cuda/check.h"

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cudnn.h>

namespace lockring {
namespace {

struct Found {
  int count = 0;
  cudaError_t status = cudaSuccess;
};

// Asked once: the driver takes its time to say that it is not there.
const Found& found() {
  static const Found answer = [] {
    Found value;
    value.status = cudaGetDeviceCount(&value.count);
    if (value.status != cudaSuccess) {
      cudaGetLastError();
      value.count = 0;
    }
    return value;
  }();
  return answer;
}

// CUDA's own form: 13000 is 13.0.
std::string version_text(int version) {
  return version <= 0 ? "" : std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}
// cuDNN's and cuBLAS's: 91900 is 9.19.0.
std::string library_version(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

int gpu_count() { return found().count; }

GpuInfo describe_gpu(int index) {
  GpuInfo gpu;
  gpu.device = {DeviceKind::cuda, index};
  cudaDeviceProp properties{};
  LOCKRING_CHECK_CUDA(cudaGetDeviceProperties(&properties, index));
  gpu.name = properties.name;
  gpu.capability = std::to_string(properties.major) + "." + std::to_string(properties.minor);
  gpu.multiprocessors = properties.multiProcessorCount;
  int before = 0;
  LOCKRING_CHECK_CUDA(cudaGetDevice(&before));
  LOCKRING_CHECK_CUDA(cudaSetDevice(index));
  std::size_t free = 0;
  std::size_t total = 0;
  LOCKRING_CHECK_CUDA(cudaMemGetInfo(&free, &total));
  LOCKRING_CHECK_CUDA(cudaSetDevice(before));
  gpu.memory_free = static_cast<std::int64_t>(free);
  gpu.memory_total = static_cast<std::int64_t>(total);
  for (int other = 0; other < found().count; ++other) {
    int reaches = 0;
    if (other != index) LOCKRING_CHECK_CUDA(cudaDeviceCanAccessPeer(&reaches, index, other));
    if (reaches != 0) gpu.peers.push_back(other);
  }
  return gpu;
}

GpuReport describe_gpus() {
  GpuReport report;
  int version = 0;
  if (cudaDriverGetVersion(&version) == cudaSuccess) report.driver = version_text(version);
  if (cudaRuntimeGetVersion(&version) == cudaSuccess) report.runtime = version_text(version);
  report.cudnn = library_version(cudnnGetVersion());
  report.cublas = library_version(cublasLtGetVersion());
  if (report.driver.empty()) {
    report.missing = "no NVIDIA driver was found";
  } else if (found().count == 0) {
    report.missing = cudaGetErrorString(found().status);
  }
  for (int index = 0; index < found().count; ++index) report.gpus.push_back(describe_gpu(index));
  return report;
}

}  // namespace lockring
