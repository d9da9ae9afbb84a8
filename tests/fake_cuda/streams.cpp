#include "tests/fake_cuda/machine.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

// A place in a stream's work.
struct Marker {
  cudaStream_t stream;
  bool passed = false;
};

struct CUstream_st {
  int device;
  std::deque<std::function<bool()>> work;  // each until it returns true
  bool running = false;
};

struct CUevent_st {
  std::shared_ptr<Marker> marker;  // of the last record
};

thread_local uint3 threadIdx, blockIdx;
thread_local dim3 blockDim, gridDim;

namespace fake_cuda {
namespace {

// In the order they were made; never destroyed, as programs synchronise while they end.
std::vector<cudaStream_t>& streams() {
  static auto* list = new std::vector<cudaStream_t>;
  return *list;
}

bool lives(cudaStream_t stream) { return std::ranges::count(streams(), stream) == 1; }

cudaError_t verdict() {
  if (const std::string problem = overrun(); !problem.empty()) return misuse(cudaErrorIllegalAddress, problem);
  return cudaSuccess;
}

// Runs what can run; true once nothing is left.
bool run_stream(cudaStream_t stream) {
  if (stream->work.empty()) return true;
  const Access access;
  while (!stream->work.empty())
    if (!run_first(stream)) return false;
  return true;
}

// With access open.
bool run_until_passed(const std::shared_ptr<Marker>& marker) {
  while (!marker->passed)
    if (!run_first(marker->stream)) return false;
  return true;
}

cudaError_t bad_stream(cudaStream_t stream) {
  if (stream == nullptr)
    return misuse(cudaErrorInvalidResourceHandle, "the default stream, which waits for all others");
  if (!lives(stream)) return misuse(cudaErrorInvalidResourceHandle, "a stream that does not live");
  return cudaSuccess;
}

// Whether a word of a kernel's argument is an address of the CPU's own memory.
bool is_host_address(std::uintptr_t word) {
  if (word < (std::uintptr_t{1} << 32) || word >= (std::uintptr_t{1} << 47)) return false;
  auto* address = reinterpret_cast<void*>(word);
  if (in_device_range(address)) return false;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  unsigned char resident = 0;
  return mincore(reinterpret_cast<void*>(word / page * page), 1, &resident) == 0;
}

bool holds_host_address(const Argument& argument) {
  for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= argument.size; at += sizeof(std::uintptr_t)) {
    std::uintptr_t word = 0;
    std::memcpy(&word, static_cast<const char*>(argument.bytes) + at, sizeof(word));
    if (is_host_address(word)) return true;
  }
  return false;
}

// Every thread of the grid once, in an order that differs from launch to launch and is seldom the usual one.
void run_grid(dim3 grid, dim3 block, const std::function<void()>& thread) {
  static std::uint64_t launches = 0;
  const std::uint64_t total = std::uint64_t{grid.x} * block.x;
  std::uint64_t step = 2654435761 * ++launches % total + 1;
  while (std::gcd(step, total) != 1) ++step;
  gridDim = grid;
  blockDim = block;
  std::uint64_t at = launches % total;
  for (std::uint64_t i = 0; i < total; ++i, at = (at + step) % total) {
    blockIdx.x = static_cast<unsigned>(at / block.x);
    threadIdx.x = static_cast<unsigned>(at % block.x);
    thread();
  }
}

}  // namespace

cudaError_t enqueue(cudaStream_t stream, std::function<void()> work) {
  const std::lock_guard lock(machine_lock());
  if (const cudaError_t error = bad_stream(stream); error != cudaSuccess) return error;
  if (stream->device != current_device())
    return misuse(cudaErrorInvalidResourceHandle, "a stream of another device than the current one");
  if (is_captured(stream)) return keep_for_graph(std::move(work));
  ++counters().launches;
  return enqueue_waiting(stream, [work = std::move(work)] {
    work();
    return true;
  });
}

cudaError_t enqueue_waiting(cudaStream_t stream, std::function<bool()> work) {
  const std::lock_guard lock(machine_lock());
  if (const cudaError_t error = bad_stream(stream); error != cudaSuccess) return error;
  if (is_captured(stream)) return refuse_while_capturing("what waits for other streams is not emulated");
  stream->work.push_back(std::move(work));
  return cudaSuccess;
}

bool is_stream_of(cudaStream_t stream, int device) {
  const std::lock_guard lock(machine_lock());
  return stream != nullptr && lives(stream) && stream->device == device;
}

// A stream whose first work waits for another stream is asked again by that one if each waits for the other.
bool run_first(cudaStream_t stream) {
  if (stream->running) return false;
  stream->running = true;
  const bool done = stream->work.front()();
  stream->running = false;
  if (done) stream->work.pop_front();
  return done;
}

void run_until(const std::function<bool()>& attempt) {
  {
    const std::lock_guard lock(machine_lock());
    ++counters().waits;
  }
  for (;;) {
    {
      const std::lock_guard lock(machine_lock());
      if (attempt()) return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

cudaError_t run_all() {
  if (const cudaError_t error = refuse_while_capturing("the device was waited for"); error != cudaSuccess) return error;
  run_until([] {
    bool done = true;
    // The youngest first: what happens to follow the order of making is not relied on.
    for (std::size_t i = streams().size(); i > 0; --i)
      done &= run_stream(streams()[i - 1]) || streams()[i - 1]->device != current_device();
    return done;
  });
  return verdict();
}

cudaError_t launch(const cudaLaunchConfig_t& config, std::initializer_list<Argument> arguments,
                   std::function<void()> thread) {
  constexpr std::size_t kMostArgumentBytes = 4096;
  std::size_t bytes = 0;
  for (const Argument& argument : arguments) {
    bytes += argument.size;
    if (holds_host_address(argument))
      return misuse(cudaErrorIllegalAddress, "a kernel was given an address of the CPU's memory");
  }
  if (bytes > kMostArgumentBytes) return misuse(cudaErrorInvalidValue, "a kernel's arguments are above 4 KB");
  if (config.gridDim.x == 0 || config.blockDim.x == 0 || config.blockDim.x > 1024)
    return misuse(cudaErrorInvalidConfiguration, "a grid of no threads or a block of more than 1024");
  return enqueue(config.stream, [grid = config.gridDim, block = config.blockDim, thread = std::move(thread)] {
    run_grid(grid, block, thread);
  });
}

}  // namespace fake_cuda

using namespace fake_cuda;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const std::lock_guard lock(machine_lock());
  if (flags != cudaStreamNonBlocking) return misuse(cudaErrorInvalidValue, "a stream that waits for the default one");
  *stream = new CUstream_st{current_device(), {}};
  streams().push_back(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (const cudaError_t error = cudaStreamSynchronize(stream); error != cudaSuccess) return error;
  const std::lock_guard lock(machine_lock());
  std::erase(streams(), stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (const cudaError_t error = refuse_while_capturing("a stream was waited for"); error != cudaSuccess) return error;
  cudaError_t error = cudaSuccess;
  bool worked = false;
  run_until([&] {
    error = bad_stream(stream);
    if (error != cudaSuccess) return true;
    worked |= !stream->work.empty();
    return run_stream(stream);
  });
  return worked && error == cudaSuccess ? verdict() : error;
}

cudaError_t cudaDeviceSynchronize() { return run_all(); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st{};
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard lock(machine_lock());
  if (is_captured(stream)) return refuse_while_capturing("an event is not emulated");
  auto marker = std::make_shared<Marker>(Marker{stream});
  const cudaError_t error = enqueue(stream, [marker] { marker->passed = true; });
  if (error == cudaSuccess) event->marker = std::move(marker);
  return error;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const std::lock_guard lock(machine_lock());
  if (const cudaError_t error = bad_stream(stream); error != cudaSuccess) return error;
  if (event->marker == nullptr) return cudaSuccess;  // never recorded: CUDA, too, waits for nothing
  return enqueue_waiting(stream, [marker = event->marker] { return run_until_passed(marker); });
}

// Time passes between two questions: one piece of work.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t error = refuse_while_capturing("an event was asked for"); error != cudaSuccess) return error;
  const std::lock_guard lock(machine_lock());
  if (event->marker == nullptr || event->marker->passed) return verdict();
  const Access access;
  run_first(event->marker->stream);
  return leave_error(cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (const cudaError_t error = refuse_while_capturing("an event was waited for"); error != cudaSuccess) return error;
  run_until([&] {
    const Access access;
    return event->marker == nullptr || run_until_passed(event->marker);
  });
  return verdict();
}
