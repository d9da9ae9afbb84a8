#include "distributed/gradient_exchange.h"

#include "distributed/buckets.h"

#include <algorithm>

namespace lockring::dist {

GradientExchange::GradientExchange(World& world, MirroredGroup& group, const GradientPlan& plan, GradientMemory memory)
    : world_(world),
      group_(group),
      plan_(plan),
      memory_(std::move(memory)),
      buckets_(cut_buckets(plan.segments, plan.bucket_bytes)),
      lanes_(std::ranges::min(world.node_sizes())),
      lane_(world.node().rank()),
      awaited_(buckets_.size(), 1),
      waiting_(group.team().size()),
      ready_(group.share<std::atomic<std::uint32_t>>(std::ssize(buckets_))) {
  for (std::size_t i = 0; i < plan_.segments.size(); ++i) {
    bucket_of_segment_.push_back(bucket_at(buckets_, plan_.segments[i].begin));
    awaited_[bucket_of_segment_.back()] += plan_.arrive[i];
  }
  if (!takes_part() || plan_.algorithm == Algorithm::mpi) return;
  Transport& transport = world_.across().transport();
  int channel = 0;
  for (const Slice& bucket : buckets_) {
    const Slice part = part_of(bucket);
    exchanges_.push_back(
        std::make_unique<Exchange<float>>(transport, channel++, plan_.algorithm, part.size(), plan_.wire));
  }
  tail_.emplace(transport, channel, Algorithm::recursive_doubling, std::ssize(memory_.tail));
}

// Of those that exchange, each takes a part of every bucket.
Slice GradientExchange::part_of(const Slice& bucket) const {
  const Slice part = slice_of(bucket.size(), 16, lanes_, lane_);
  return {bucket.begin + part.begin, bucket.begin + part.end};
}

void GradientExchange::begin(int replica) {
  waiting_[replica] = awaited_;
  if (replica != 0) return;
  ++steps_;
  started_ = finished_ = 0;
}

void GradientExchange::note(int replica, std::size_t bucket) {
  if (--waiting_[replica][bucket] == 0)
    ready_[static_cast<std::int64_t>(bucket)].fetch_add(1, std::memory_order_release);
}

void GradientExchange::begin_last_backward(int replica) {
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) note(replica, bucket);
}

void GradientExchange::complete(int replica, std::int64_t offset) {
  const auto segment = std::ranges::lower_bound(plan_.segments, offset, {}, &Slice::begin) - plan_.segments.begin();
  note(replica, bucket_of_segment_[segment]);
}

void GradientExchange::complete_all(int replica) {
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    int& awaited = waiting_[replica][bucket];
    if (awaited == 0) continue;
    awaited = 1;
    note(replica, bucket);
  }
}

void GradientExchange::poll() {
  if (overlap_ && plan_.algorithm != Algorithm::mpi) progress();
}

void GradientExchange::finish() {
  if (!takes_part()) return;
  if (plan_.algorithm == Algorithm::mpi) return finish_with_library();
  const auto whom = [this] {
    return finished_ < started_ ? exchanges_[finished_]->waiting_for() : tail_->waiting_for();
  };
  world_.across().wait_together([this] { return progress(); }, "the exchange of gradients", whom);
}

// Starts what is ready, in order, and moves on what has been started. True once all of the step's is done.
bool GradientExchange::progress() {
  if (!takes_part()) return true;
  const std::uint32_t all = steps_ * static_cast<std::uint32_t>(group_.size());
  while (started_ < buckets_.size() &&
         ready_[static_cast<std::int64_t>(started_)].load(std::memory_order_acquire) == all)
    start(started_++);
  bool done = started_ == buckets_.size();
  for (std::size_t i = finished_; i < started_; ++i) {
    const bool bucket_done = exchanges_[i]->progress();
    if (bucket_done && i == finished_) ++finished_;
    done &= bucket_done;
  }
  if (started_ > 0) done &= tail_->progress();
  return done;
}

void GradientExchange::start(std::size_t bucket) {
  const Slice part = part_of(buckets_[bucket]);
  memory_.add_up(part);
  exchanges_[bucket]->start(memory_.sums + part.begin);
  if (bucket > 0 || lane_ != 0) return;
  clear_foreign_tail();
  tail_->start(memory_.tail.data());
}

// One rank of a machine speaks for all: the numbers are in memory that they share. What other machines have set is not
// known here yet.
void GradientExchange::clear_foreign_tail() {
  const std::span tail = memory_.tail;
  std::fill(tail.begin(), tail.begin() + memory_.own_tail.begin, 0.0);
  std::fill(tail.begin() + memory_.own_tail.end, tail.end(), 0.0);
}

void GradientExchange::finish_with_library() {
  Communicator& across = world_.across();
  for (const Slice& bucket : buckets_) {
    const Slice part = part_of(bucket);
    memory_.add_up(part);
    across.all_reduce(std::span(memory_.sums + part.begin, memory_.sums + part.end), Algorithm::mpi);
  }
  if (lane_ != 0) return;
  clear_foreign_tail();
  across.all_reduce(memory_.tail);
}

}  // namespace lockring::dist
