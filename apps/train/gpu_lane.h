// The way between a replica's thread and its GPU: batches go there, and what a step has found out comes back. All of it
// passes through pinned memory, so that nothing waits for the GPU but wait(), once a step. What is sent first in a
// step, second, and so on, lies where it lay in the step before, so that a step can be launched again as it was
// recorded.
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

  // What the step before the last had is forgotten; nothing of it may be under way any more.
  void begin_step();
  // The batch in the GPU's memory, as soon as the GPU comes to it and until it is sent the next step's.
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
  // So many bytes of the GPU's memory, there to be read after wait().
  const void* receive(const void* on_gpu, std::int64_t bytes);
  // Changes when something that is sent has come to lie elsewhere.
  std::int64_t version() const { return version_; }
  const std::vector<Reading>& readings() const { return readings_; }

 private:
  // What a step has in the CPU's memory: two of them, in turns.
  struct Half {
    std::vector<Storage> pinned;  // the last is in use; the others were too small for the step
    std::int64_t used = 0;        // bytes of it
  };

  Half& half() { return halves_[static_cast<std::size_t>(step_ % 2)]; }
  void* take_pinned(std::int64_t bytes);

  Device device_;
  Half halves_[2];
  std::int64_t step_ = 0;
  std::vector<Storage> sent_;  // places on the GPU, in the order in which they are filled
  std::size_t next_sent_ = 0;
  std::int64_t version_ = 0;
  std::vector<Reading> readings_;
};

}  // namespace lockring::app
