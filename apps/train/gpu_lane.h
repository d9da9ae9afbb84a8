// The way between a replica's thread and its GPU: batches go there, and what a step has found out comes back. All of it
// passes through pinned memory, so that nothing waits for the GPU but wait(), once a step.
#pragma once

#include "core/device.h"
#include "core/storage.h"
#include "data/batch.h"
#include "data/sampler.h"

#include <cstdint>
#include <span>
#include <vector>

namespace lockring::app {

// For one thread.
class GpuLane {
 public:
  explicit GpuLane(Device device) : device_(device) {}

  // What the step before had is forgotten; nothing of it may be under way any more.
  void begin_step();
  // The batch in the GPU's memory, as soon as the GPU comes to it.
  data::Batch send(const data::Batch& batch);
  Tensor send(const Tensor& tensor);

  // Of a micro-batch; there to be read after wait().
  struct Reading {
    std::int64_t shard;
    data::Range range;
    const float* loss;
    const std::int64_t* correct;
  };
  // `loss` f32 [1] and `correct` i64 [1] lie on the GPU.
  void bring_back(std::int64_t shard, data::Range range, const Tensor& loss, const Tensor& correct);
  // So many doubles of the GPU's memory, there to be read after wait().
  std::span<const double> bring_back(const double* values, std::int64_t count);
  void wait() const;
  const std::vector<Reading>& readings() const { return readings_; }

 private:
  void* take_pinned(std::int64_t bytes);
  void* receive(const void* on_gpu, std::int64_t bytes);

  Device device_;
  std::vector<Storage> pinned_;  // the last is in use; the others were too small for the step
  std::int64_t used_ = 0;        // bytes of it
  std::vector<Reading> readings_;
};

}  // namespace lockring::app
