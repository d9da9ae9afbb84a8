// The sum of gradients over machines, bucket by bucket, while the rest of the gradient is still being computed.
//
// Each replica tells when its part of a gradient is complete. Once all of a machine's replicas have completed a bucket,
// each of its first ranks adds up a part of it over the machine's gradients, and exchanges that with the ranks of the
// same place elsewhere. Nothing runs in the background: who computes calls poll() now and then, and finish() in the
// end. The numbers beside the gradient travel with the first bucket: all of them are known by then.
#pragma once

#include "distributed/exchange.h"
#include "distributed/mirrored_group.h"
#include "distributed/slice.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace lockring::dist {

struct GradientPlan {
  Algorithm algorithm = Algorithm::ring;
  Wire wire = Wire::f32;
  std::vector<Slice> segments = {};  // the arena's tensors, as cut_buckets() takes them
  std::vector<bool> arrive = {};     // of each: whether complete() will tell of it
  std::int64_t bucket_bytes = 0;
};

// Where the numbers lie.
struct GradientMemory {
  float* sums = nullptr;                   // the arena that takes the sum
  std::function<void(Slice)> add_up = {};  // adds up the machine's gradients in a slice, into the sums
  std::span<double> tail = {};             // numbers that are exchanged too, of all machines ...
  Slice own_tail = {};                     // ... and those among them that this machine has set; it zeroes the others
};

class GradientExchange {
 public:
  // Every rank of the job makes the same, with memory that its machine shares.
  GradientExchange(World& world, MirroredGroup& group, const GradientPlan& plan, GradientMemory memory);

  // By each replica of this process, in each step: first begin(). If it computes anything, begin_last_backward() when
  // all but the gradients that arrive is there, and complete() for each of these, named by where it begins in the
  // arena. complete_all() at the end.
  void begin(int replica);
  void begin_last_backward(int replica);
  void complete(int replica, std::int64_t offset);
  void complete_all(int replica);

  // By this process's first replica, on whose thread messages travel: moves on what can be, without waiting.
  void poll();
  // Returns when all is added up, here and elsewhere. Once the machine's replicas have all called complete_all().
  void finish();

  // Whether anything is exchanged before finish(); true at first.
  void set_overlap(bool overlap) { overlap_ = overlap; }
  const std::vector<Slice>& buckets() const { return buckets_; }

 private:
  bool takes_part() const { return lane_ < lanes_; }
  void note(int replica, std::size_t bucket);
  Slice part_of(const Slice& bucket) const;
  void start(std::size_t bucket);
  void clear_foreign_tail();
  bool progress();
  void finish_with_library();

  World& world_;
  MirroredGroup& group_;
  const GradientPlan plan_;
  const GradientMemory memory_;
  const std::vector<Slice> buckets_;
  const int lanes_;  // ranks of each machine that exchange a part
  const int lane_;
  std::vector<std::size_t> bucket_of_segment_;
  std::vector<int> awaited_;                  // [bucket]: gradients, and the beginning of the backward
  std::vector<std::vector<int>> waiting_;     // [replica][bucket]: what is still awaited in this step
  Shared<std::atomic<std::uint32_t>> ready_;  // of each bucket: replicas that have completed it, over all steps
  std::vector<std::unique_ptr<Exchange<float>>> exchanges_;
  std::optional<Exchange<double>> tail_;
  std::uint32_t steps_ = 0;
  std::size_t started_ = 0;   // buckets of this step
  std::size_t finished_ = 0;  // those before it are done
  bool overlap_ = true;
};

}  // namespace lockring::dist
