#include "core/cuda/stream.h"

#include "core/cuda/check.h"
#include "core/devices.h"
#include "core/error.h"

#include <array>
#include <memory>

namespace lockring::cuda {
namespace {

thread_local int selected = -1;

struct ThreadStreams {
  std::array<std::unique_ptr<Stream>, kMostGpus> streams;

  // Memory that the thread leaves to others must not be in use.
  ~ThreadStreams() {
    for (const std::unique_ptr<Stream>& stream : streams)
      if (stream != nullptr) cudaStreamSynchronize(stream->get());
  }
};

}  // namespace

void select_gpu(int index) {
  if (index == selected) return;
  check(gpu_count() > 0, ErrorCode::device, "device cuda:{} is not there: {}", index, describe_gpus().missing);
  check(index >= 0 && index < gpu_count() && index < kMostGpus, ErrorCode::device,
        "device cuda:{} is not there: this process has {} of them", index, gpu_count());
  LOCKRING_CHECK_CUDA(cudaSetDevice(index));
  selected = index;
}

int current_gpu() {
  if (selected < 0) select_gpu(0);
  return selected;
}

cudaStream_t current_stream() {
  thread_local ThreadStreams mine;
  std::unique_ptr<Stream>& stream = mine.streams[static_cast<std::size_t>(current_gpu())];
  if (stream == nullptr) stream = std::make_unique<Stream>();
  return stream->get();
}

bool is_recording() {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  LOCKRING_CHECK_CUDA(cudaStreamIsCapturing(current_stream(), &status));
  return status != cudaStreamCaptureStatusNone;
}

Stream::Stream() { LOCKRING_CHECK_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
Stream::~Stream() { cudaStreamDestroy(stream_); }

Event::Event() { LOCKRING_CHECK_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
Event::~Event() { cudaEventDestroy(event_); }
void Event::record(cudaStream_t stream) { LOCKRING_CHECK_CUDA(cudaEventRecord(event_, stream)); }
void Event::hold(cudaStream_t stream) const { LOCKRING_CHECK_CUDA(cudaStreamWaitEvent(stream, event_, 0)); }
bool Event::done() const {
  const cudaError_t status = cudaEventQuery(event_);
  if (status == cudaErrorNotReady) {
    cudaGetLastError();  // the libraries would take it for theirs
    return false;
  }
  LOCKRING_CHECK_CUDA(status);
  return true;
}
void Event::synchronize() const { LOCKRING_CHECK_CUDA(cudaEventSynchronize(event_)); }

}  // namespace lockring::cuda
