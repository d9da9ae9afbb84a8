// The sum of one replica's gradient with those of the other GPUs, through NCCL: bucket after bucket, on a stream of its
// own, while the rest of the backward is computed.
#pragma once

#include "distributed/device_communicator.h"
#include "distributed/slice.h"
#include "nn/arena.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lockring::app {

// Used by the replica's thread.
class GpuExchange {
 public:
  // Every replica of the job makes the same, of a gradient on the communicator's device.
  GpuExchange(std::unique_ptr<dist::DeviceCommunicator> gpus, nn::Arena gradient, std::int64_t bucket_bytes);

  // In each step: begin(); a Scope around the last backward, if the replica computes any; finish() when the gradient is
  // complete. What the thread then asks of its stream finds the sum. Sums start early, as soon as the backward allows,
  // only where it asks for no memory meanwhile (device_communicator.h).
  void begin(bool early);
  void finish();
  // Returns when the sums are there; throws as DeviceCommunicator::wait() does.
  void wait() { gpus_->wait(); }
  void abandon(const std::string& why) { gpus_->abandon(why); }

  // While it lives, on the replica's thread, gradients that a backward completes are noted.
  class Scope {
   public:
    explicit Scope(GpuExchange& exchange);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
  };

 private:
  void complete(std::int64_t offset);
  void start_ready();

  const std::unique_ptr<dist::DeviceCommunicator> gpus_;
  nn::Arena gradient_;
  const std::vector<dist::Slice> buckets_;
  std::vector<int> awaited_;  // [bucket]: gradients that a backward completes
  std::vector<int> waiting_;  // of these, in this step
  bool early_ = false;
  std::size_t started_ = 0;  // buckets; in their order, which is everyone's
};

}  // namespace lockring::app
