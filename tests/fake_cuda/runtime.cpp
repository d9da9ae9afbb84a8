#include "tests/fake_cuda/machine.h"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace fake_cuda {
namespace {

thread_local int current = 0;
thread_local std::string misused;
thread_local cudaError_t last_error = cudaSuccess;
std::atomic<Refusal> refused = Refusal::nothing;

cudaError_t check_copy(const void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (in_device_range(to) != to_device || in_device_range(from) != from_device)
    return misuse(cudaErrorInvalidMemcpyDirection, "a copy between other kinds of memory than it says");
  if ((to_device && !on_device(to, bytes)) || (from_device && !on_device(from, bytes)))
    return misuse(cudaErrorInvalidValue, "a copy beyond a block of the device");
  return cudaSuccess;
}

}  // namespace

std::recursive_mutex& machine_lock() {
  static auto* mutex = new std::recursive_mutex;
  return *mutex;
}

cudaError_t misuse(cudaError_t error, const std::string& what) {
  misused = what;
  return leave_error(error);
}

std::string last_misuse() {
  last_error = cudaSuccess;
  return std::exchange(misused, "");
}

cudaError_t leave_error(cudaError_t error) {
  last_error = error;
  return error;
}
Counters& counters() {
  static Counters value;
  return value;
}
int current_device() { return current; }

void refuse_libraries(Refusal refusal) { refused = refusal; }
Refusal refusal() { return refused; }

}  // namespace fake_cuda

using namespace fake_cuda;

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    default:
      return "cudaErrorInvalidValue";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation || misused.empty() ? cudaGetErrorName(error) : misused.c_str();
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = kDevices;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= kDevices) return misuse(cudaErrorInvalidDevice, "a device that is not there");
  current = device;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device < 0 || device >= kDevices) return misuse(cudaErrorInvalidDevice, "a device that is not there");
  std::snprintf(properties->name, sizeof(properties->name), "emulated device %d", device);
  properties->major = 9;
  properties->minor = 0;
  properties->multiProcessorCount = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (device < 0 || device >= kDevices) return misuse(cudaErrorInvalidDevice, "a device that is not there");
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0", device + 1);
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer ? 1 : 0;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

// From pageable memory CUDA takes the bytes before it returns; to pageable memory it returns when they are there.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (bytes == 0) return cudaSuccess;
  if (const cudaError_t error = check_copy(to, from, bytes, kind); error != cudaSuccess) return error;
  const bool pageable = (kind == cudaMemcpyHostToDevice && !is_pinned(from, bytes)) ||
                        (kind == cudaMemcpyDeviceToHost && !is_pinned(to, bytes));
  if (pageable && is_captured(stream)) return refuse_while_capturing("a copy of memory that is not pinned");
  if (kind == cudaMemcpyHostToDevice && !is_pinned(from, bytes)) {
    const auto* begin = static_cast<const char*>(from);
    return enqueue(stream, [to, bytes, staged = std::vector<char>(begin, begin + bytes)] {
      std::memcpy(to, staged.data(), bytes);
    });
  }
  const cudaError_t error = enqueue(stream, [to, from, bytes] { std::memcpy(to, from, bytes); });
  if (error != cudaSuccess || kind != cudaMemcpyDeviceToHost || is_pinned(to, bytes)) return error;
  return cudaStreamSynchronize(stream);
}

cudaError_t cudaMemsetAsync(void* block, int value, std::size_t bytes, cudaStream_t stream) {
  const std::lock_guard lock(machine_lock());
  if (bytes == 0) return cudaSuccess;
  if (!on_device(block, bytes)) return misuse(cudaErrorInvalidValue, "cudaMemset of what is no block of the device");
  return enqueue(stream, [block, value, bytes] { std::memset(block, value, bytes); });
}
