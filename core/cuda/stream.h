// Streams and events. Each thread has one stream on each GPU that it uses: a replica is a thread, so a replica's work
// is in order, and nothing waits for another replica's.
//
// A thread works on one GPU at a time, its current one. A stream that a thread had is synchronised when the thread
// ends.
#pragma once

#include <cuda_runtime.h>

namespace lockring::cuda {

// More than a machine holds.
constexpr int kMostGpus = 64;

// Makes the GPU the calling thread's current one. Throws Error{device} if it is not there.
void select_gpu(int index);
int current_gpu();

// The calling thread's stream on its current GPU; it does not wait for the default stream.
cudaStream_t current_stream();
// Whether what the thread asks of its current stream is recorded (core/device_graph.h) and does not run.
bool is_recording();

// A further stream on the current GPU, for what overlaps with the thread's own.
class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// A place in a stream's work, which other streams and the CPU can wait for.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(cudaStream_t stream);
  // What is asked of `stream` from now on waits until what was recorded is done.
  void hold(cudaStream_t stream) const;
  // Whether what was recorded is done.
  bool done() const;
  // The CPU waits.
  void synchronize() const;

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace lockring::cuda
