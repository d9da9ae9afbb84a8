// Hands the batches of training steps to replicas: filled by the replica that asks, or ahead of it by threads.
//
// What is in a batch follows from its samples, the seed and the epoch, never from who fills it or when, so the number
// of threads changes no bit. The state is (seed, epoch, position): a run that resumes in the middle of an epoch expects
// the rest of its order, and nothing is replayed.
#pragma once

#include "data/batch.h"
#include "data/dataset.h"
#include "data/sampler.h"
#include "data/transform.h"

#include <array>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace lockring::data {

struct LoaderOptions {
  std::uint64_t seed = 0;
  int threads = 0;  // that fill batches ahead; 0: none
  // Batches are cut into `shards` parts (sampler.h), of which this process computes those in `own`.
  std::int64_t shards = 1;
  Range own{0, 1};
};

// With threads, the batches of the next steps lie in buffers that are used in turn. A replica that comes before they
// are full helps to fill them, so threads never make a step slower than none would.
class Loader {
 public:
  // `split` and `transform` must outlive the loader. Throws Error{device} if the system refuses so many threads.
  Loader(const Split& split, const Transform& transform, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Tells that the coming steps take `order` in parts of `batch_size`, and forgets what was expected before. To be
  // called between steps by the thread that begins them; `order` is copied.
  void expect(std::span<const std::uint32_t> order, std::int64_t batch_size, std::int64_t epoch);

  // The step on these samples, which need not have been expected; `batch` must live as long as the step. Ends the step
  // before and takes back its memory, so no replica may be reading or hold a batch of it.
  void begin_step(std::span<const std::uint32_t> batch, std::int64_t epoch);

  // Positions of the step's batch, within the part that belongs to this process. Valid until the next step begins.
  // Any thread. What goes wrong in a thread of the loader is thrown here.
  Batch read(Range range);

 private:
  enum class Chunk : std::uint8_t { waiting, taken, done };

  // One batch that is filled ahead, chunk by chunk.
  struct Slot {
    std::vector<std::uint32_t> samples;
    std::int64_t epoch = 0;
    Range part;   // positions that belong to this process
    Batch batch;  // of at least that size
    std::vector<Chunk> chunks;
    std::exception_ptr failure;
  };
  struct Work {
    Slot* slot = nullptr;
    std::size_t chunk = 0;
  };

  Range own_part(std::int64_t batch) const;
  Batch fill(std::span<const std::uint32_t> samples, Range range, std::int64_t epoch) const;
  void make_room(Slot& slot);
  bool prepare_next(Slot& slot);
  void abandon(Slot& slot, std::unique_lock<std::mutex>& lock);
  Work find_work();
  void fill_chunk(Work work, std::unique_lock<std::mutex>& lock);
  void work();
  void end_threads();

  static constexpr std::size_t kSlots = 3;  // the step that is computed, and two to come

  const Split& split_;
  const Transform& transform_;
  const LoaderOptions options_;

  // The step under way: out of a slot, or filled where it is read.
  std::span<const std::uint32_t> batch_;
  std::int64_t epoch_ = 0;
  Slot* current_ = nullptr;

  // Everything below is guarded by the mutex, but for the samples and the images of chunks that are taken.
  std::mutex mutex_;
  std::condition_variable work_there_;
  std::condition_variable chunk_done_;
  std::vector<std::uint32_t> order_;
  std::int64_t batch_size_ = 0;
  std::int64_t order_epoch_ = 0;
  std::size_t next_position_ = 0;  // in the order, of the first batch that is in no slot
  std::array<Slot, kSlots> slots_;
  std::size_t first_ = 0;     // the slot of the earliest batch
  std::size_t prepared_ = 0;  // slots in use, from the first on
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lockring::data
