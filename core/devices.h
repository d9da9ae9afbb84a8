// Which devices this machine offers beside the CPU.
#pragma once

#include "core/device.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lockring {

// GPUs that this process may use; 0 where the program was built without CUDA, or there is no GPU or no driver.
// Any thread may call it; the answer does not change while the process runs.
int gpu_count();

struct GpuInfo {
  Device device;
  std::string name;
  std::string capability;  // "9.0"
  int multiprocessors = 0;
  std::int64_t memory_total = 0, memory_free = 0;  // bytes
  std::vector<int> peers;                          // GPUs whose memory this one reaches directly
};

// Touches no other GPU: a job of many ranks is not to have something on each. Throws Error{device} if it is not there.
GpuInfo describe_gpu(int index);

struct GpuReport {
  std::string missing;                         // why there are none; empty if there are
  std::string driver, runtime, cudnn, cublas;  // versions; empty if unknown
  std::vector<GpuInfo> gpus;
};
// Never throws for a GPU or driver that is missing: says so instead.
GpuReport describe_gpus();

}  // namespace lockring
