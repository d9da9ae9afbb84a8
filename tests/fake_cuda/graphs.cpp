// Graphs: work that is put on a stream while it is captured is kept, and put there again by every launch.
#include "tests/fake_cuda/machine.h"

#include <algorithm>
#include <utility>
#include <vector>

struct CUgraph_st {
  int device;
  std::vector<std::function<void()>> work;
};
struct CUgraphExec_st : CUgraph_st {};

namespace fake_cuda {
namespace {

// Of the calling thread, which captures one stream at a time.
struct Capture {
  cudaStream_t stream = nullptr;  // null: nothing is captured
  bool broken = false;
  std::vector<std::function<void()>> work;
};
thread_local Capture capture;
thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

std::vector<cudaGraphExec_t>& runnable_graphs() {
  static auto* list = new std::vector<cudaGraphExec_t>;
  return *list;
}

}  // namespace

bool is_captured(cudaStream_t stream) { return stream != nullptr && capture.stream == stream; }

cudaError_t keep_for_graph(std::function<void()> work) {
  if (capture.broken) return cudaErrorStreamCaptureInvalidated;
  capture.work.push_back(std::move(work));
  return cudaSuccess;
}

cudaError_t refuse_while_capturing(const char* what) {
  if (capture.stream == nullptr) return cudaSuccess;
  capture.broken = true;
  return misuse(cudaErrorStreamCaptureUnsupported, std::string(what) + " while a stream is captured");
}

cudaError_t refuse_unless_relaxed(const char* what) {
  return thread_mode == cudaStreamCaptureModeRelaxed ? cudaSuccess : refuse_while_capturing(what);
}

}  // namespace fake_cuda

using namespace fake_cuda;

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = !is_captured(stream) ? cudaStreamCaptureStatusNone
            : capture.broken     ? cudaStreamCaptureStatusInvalidated
                                 : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const std::lock_guard lock(machine_lock());
  if (!is_stream_of(stream, current_device()) || capture.stream != nullptr)
    return misuse(cudaErrorInvalidResourceHandle, "a capture of no stream of the device, or within another");
  if (mode != cudaStreamCaptureModeThreadLocal) return misuse(cudaErrorInvalidValue, "a capture that disturbs others");
  capture = {stream, false, {}};
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  if (!is_captured(stream)) return misuse(cudaErrorInvalidResourceHandle, "the end of a capture that was not begun");
  Capture ended = std::exchange(capture, {});
  if (ended.broken) return cudaErrorStreamCaptureInvalidated;
  *graph = new CUgraph_st{current_device(), std::move(ended.work)};
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, thread_mode);
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* runnable, cudaGraph_t graph, unsigned long long) {
  const std::lock_guard lock(machine_lock());
  *runnable = new CUgraphExec_st{*graph};
  runnable_graphs().push_back(*runnable);
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t runnable) {
  const std::lock_guard lock(machine_lock());
  std::erase(runnable_graphs(), runnable);
  delete runnable;
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t runnable, cudaStream_t stream) {
  const std::lock_guard lock(machine_lock());
  if (std::ranges::count(runnable_graphs(), runnable) != 1 || runnable->device != current_device())
    return misuse(cudaErrorInvalidResourceHandle, "a graph that does not live, or of another device");
  const std::int64_t launches = counters().launches;
  for (const std::function<void()>& work : runnable->work)
    if (const cudaError_t error = enqueue(stream, work); error != cudaSuccess) return error;
  ++counters().graph_launches;
  counters().launches = launches;
  return cudaSuccess;
}
