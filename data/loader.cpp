#include "data/loader.h"

#include "core/error.h"

#include <algorithm>
#include <cassert>
#include <system_error>

namespace lockring::data {
namespace {

// Images that a thread fills at a time: enough to make locking cheap, few enough to share a batch out evenly.
constexpr std::int64_t kChunk = 8;

}  // namespace

Loader::Loader(const Split& split, const Transform& transform, const LoaderOptions& options)
    : split_(split), transform_(transform), options_(options) {
  assert(0 <= options.own.begin && options.own.begin < options.own.end && options.own.end <= options.shards);
  try {
    for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    end_threads();
    fail(ErrorCode::device, "cannot start {} threads that load data: {}", options.threads, error.what());
  }
}

Loader::~Loader() { end_threads(); }

void Loader::end_threads() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_there_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Loader::expect(std::span<const std::uint32_t> order, std::int64_t batch_size, std::int64_t epoch) {
  if (threads_.empty()) return;
  std::unique_lock lock(mutex_);
  for (Slot& slot : slots_) abandon(slot, lock);
  current_ = nullptr;
  order_.assign(order.begin(), order.end());
  batch_size_ = batch_size;
  order_epoch_ = epoch;
  next_position_ = first_ = prepared_ = 0;
  while (prepared_ < kSlots && prepare_next(slots_[prepared_])) ++prepared_;
}

void Loader::begin_step(std::span<const std::uint32_t> batch, std::int64_t epoch) {
  batch_ = batch;
  epoch_ = epoch;
  if (threads_.empty()) return;
  std::unique_lock lock(mutex_);
  if (current_ != nullptr) {
    abandon(*current_, lock);
    const bool again = prepare_next(*current_);
    first_ = (first_ + 1) % kSlots;
    if (!again) --prepared_;
    current_ = nullptr;
  }
  if (prepared_ == 0) return;
  Slot& slot = slots_[first_];
  if (slot.epoch == epoch && std::ranges::equal(slot.samples, batch)) current_ = &slot;
}

Batch Loader::read(Range range) {
  if (current_ == nullptr) return fill(batch_, range, epoch_);
  Slot& slot = *current_;
  assert(slot.part.begin <= range.begin && range.end <= slot.part.end);
  const auto first = static_cast<std::size_t>((range.begin - slot.part.begin) / kChunk);
  const auto last = static_cast<std::size_t>((range.end - slot.part.begin + kChunk - 1) / kChunk);
  std::unique_lock lock(mutex_);
  for (std::size_t chunk = first; chunk < last; ++chunk)
    if (slot.chunks[chunk] == Chunk::waiting) fill_chunk({&slot, chunk}, lock);
  chunk_done_.wait(lock, [&] {
    return std::all_of(slot.chunks.begin() + first, slot.chunks.begin() + last,
                       [](Chunk chunk) { return chunk == Chunk::done; });
  });
  if (slot.failure != nullptr) std::rethrow_exception(slot.failure);
  return slot.batch.slice(range.begin - slot.part.begin, range.end - slot.part.begin);
}

Range Loader::own_part(std::int64_t batch) const {
  return {shard_range(batch, options_.shards, options_.own.begin).begin,
          shard_range(batch, options_.shards, options_.own.end - 1).end};
}

Batch Loader::fill(std::span<const std::uint32_t> samples, Range range, std::int64_t epoch) const {
  const Shape& all = split_.images->shape();
  Batch batch = Batch::empty({all[1], all[2], all[3]}, range.size(), transform_.mixes());
  transform_.fill(split_, samples, range, options_.seed, epoch, batch);
  return batch;
}

// Memory is taken for the first batches only: later ones are as large or smaller.
void Loader::make_room(Slot& slot) {
  if (slot.batch.labels.defined() && slot.batch.size() >= slot.part.size()) return;
  const Shape& all = split_.images->shape();
  slot.batch = Batch::empty({all[1], all[2], all[3]}, slot.part.size(), transform_.mixes());
}

// Puts the next batch of the order into the slot; false if there is none.
bool Loader::prepare_next(Slot& slot) {
  if (next_position_ == order_.size()) return false;
  const std::size_t end = std::min(next_position_ + static_cast<std::size_t>(batch_size_), order_.size());
  slot.samples.assign(order_.begin() + next_position_, order_.begin() + end);
  next_position_ = end;
  slot.epoch = order_epoch_;
  slot.part = own_part(std::ssize(slot.samples));
  slot.failure = nullptr;
  make_room(slot);
  slot.chunks.assign(static_cast<std::size_t>((slot.part.size() + kChunk - 1) / kChunk), Chunk::waiting);
  // No more threads than there are chunks.
  for (std::size_t i = 0; i < std::min(slot.chunks.size(), threads_.size()); ++i) work_there_.notify_one();
  return true;
}

// Nobody needs the slot's batch any more: waits for those who are filling it, and lets no other begin.
void Loader::abandon(Slot& slot, std::unique_lock<std::mutex>& lock) {
  std::ranges::replace(slot.chunks, Chunk::waiting, Chunk::done);
  chunk_done_.wait(lock, [&] { return std::ranges::count(slot.chunks, Chunk::taken) == 0; });
}

// The earliest batch first.
Loader::Work Loader::find_work() {
  for (std::size_t i = 0; i < prepared_; ++i) {
    Slot& slot = slots_[(first_ + i) % kSlots];
    const auto chunk = std::ranges::find(slot.chunks, Chunk::waiting);
    if (chunk != slot.chunks.end()) return {&slot, static_cast<std::size_t>(chunk - slot.chunks.begin())};
  }
  return {};
}

void Loader::fill_chunk(Work work, std::unique_lock<std::mutex>& lock) {
  Slot& slot = *work.slot;
  slot.chunks[work.chunk] = Chunk::taken;
  lock.unlock();
  std::exception_ptr failure;
  try {
    const std::int64_t begin = static_cast<std::int64_t>(work.chunk) * kChunk;
    const std::int64_t end = std::min(begin + kChunk, slot.part.size());
    Batch part = slot.batch.slice(begin, end);
    transform_.fill(split_, slot.samples, {slot.part.begin + begin, slot.part.begin + end}, options_.seed, slot.epoch,
                    part);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  slot.chunks[work.chunk] = Chunk::done;
  if (failure != nullptr) slot.failure = failure;
  chunk_done_.notify_all();
}

void Loader::work() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (const Work found = find_work(); found.slot != nullptr) {
      fill_chunk(found, lock);
    } else {
      work_there_.wait(lock);
    }
  }
}

}  // namespace lockring::data
