// What the parts of the fake share: four devices, their memory, and the work on their streams.
//
// Every function takes the machine's lock for itself, and one that waits must be called without it. A misuse gives the
// error that CUDA gives and a sentence for people, which last_misuse() keeps.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace fake_cuda {

constexpr int kDevices = 4;

std::recursive_mutex& machine_lock();

// Notes the misuse and returns the error.
cudaError_t misuse(cudaError_t error, const std::string& what);
// Returns the error, which cudaGetLastError() gives from now on: the libraries take it for one of their own.
cudaError_t leave_error(cudaError_t error);
// What was last done wrong, and forgets it.
std::string last_misuse();

// How often the CPU has waited for a device, a device was asked for memory, work was put on a stream, alone and as a
// graph, and algorithms were measured.
struct Counters {
  std::int64_t waits = 0;
  std::int64_t allocations = 0;
  std::int64_t launches = 0;
  std::int64_t graph_launches = 0;
  std::int64_t measurements = 0;
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
// Work that cannot always run: it is called until it returns true, and holds the stream until then. Of any device.
cudaError_t enqueue_waiting(cudaStream_t stream, std::function<bool()> work);
// Whether the stream lives and belongs to the device.
bool is_stream_of(cudaStream_t stream, int device);
// Runs what comes first on a stream, if it can. With the lock, and access.
bool run_first(cudaStream_t stream);
// Calls `attempt`, with the lock, until it returns true; the other threads may do something in between.
void run_until(const std::function<bool()>& attempt);
// Runs what is on all streams, and returns when those of the current device are empty.
cudaError_t run_all();

// ---- libraries ----

// What cuDNN and cuBLASLt do not support from now on: nothing has an algorithm, or its call is refused.
enum class Refusal { nothing, algorithms, calls };
void refuse_libraries(Refusal refusal);
Refusal refusal();

// ---- graphs ----

// Whether the calling thread captures the stream; then what would go to it is kept.
bool is_captured(cudaStream_t stream);
cudaError_t keep_for_graph(std::function<void()> work);
// What must not be called by a thread that captures breaks the capture; cudaSuccess if it does not capture.
cudaError_t refuse_while_capturing(const char* what);
// The same for what may be in the thread's mode cudaStreamCaptureModeRelaxed.
cudaError_t refuse_unless_relaxed(const char* what);

// ---- NCCL ----

// Fails if a collective that other devices of the process have come to waits for the current one: in truth a call for
// memory may wait for all devices, and those would wait for its caller.
cudaError_t check_nobody_waits(const char* call);
// The next collective that is asked for never ends, and its ranks see an error.
void break_next_collective();

}  // namespace fake_cuda
