// What the parts of the fake share: two devices, their memory, and the work on their streams.
//
// Every function takes the machine's lock for itself. A misuse gives the error that CUDA gives and a sentence for
// people, which last_misuse() keeps.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace fake_cuda {

constexpr int kDevices = 2;

std::recursive_mutex& machine_lock();

// Notes the misuse and returns the error.
cudaError_t misuse(cudaError_t error, const std::string& what);
// What was last done wrong, and forgets it.
std::string last_misuse();

// How often the CPU has waited for a device, and how often a device was asked for memory.
struct Counters {
  std::int64_t waits = 0;
  std::int64_t allocations = 0;
};
Counters& counters();

// The device that is current on the calling thread.
int current_device();

// ---- memory ----

// Whether all of it lies within one live block of a device (any, or the given one).
bool on_device(const void* block, std::size_t bytes, int device = -1);
// Whether it begins within the memory of any device, live or not.
bool in_device_range(const void* block);
bool is_pinned(const void* block, std::size_t bytes);
// Lets the CPU read and write the memory of devices while it lives. Nests.
class Access {
 public:
  Access();
  ~Access();
  Access(const Access&) = delete;
  Access& operator=(const Access&) = delete;
};
// "" or a sentence about a block whose surroundings were written to.
std::string overrun();

// ---- streams ----

// Puts work on a stream, to run later. The stream must live and belong to the current device.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);
// Runs what is on all streams.
cudaError_t run_all();

}  // namespace fake_cuda
