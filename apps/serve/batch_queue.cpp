#include "apps/serve/batch_queue.h"

namespace lockring::app::serve {
namespace {

// Fewer rows than this are not worth another core: waking it costs more than computing them.
constexpr std::int64_t kLeastPart = 16;

// A replica whose core is shared falls behind, and those in its lane must not wait for it much longer than others do.
constexpr auto kPatience = std::chrono::milliseconds(2);

}  // namespace

BatchQueue::BatchQueue(const BatchOptions& options, int lanes)
    : options_(options), limit_(options.max_rows), lanes_(static_cast<std::size_t>(std::max(lanes, 1))) {}

void BatchQueue::push(const std::shared_ptr<Pending>& pending, int replicas, int lane) {
  const std::int64_t rows = pending->request.images.size(0);
  const std::int64_t even = (rows + replicas - 1) / replicas;
  const std::int64_t part = std::min(limit_, std::max(kLeastPart, even));
  auto next = static_cast<std::size_t>(lane) % lanes_.size();
  for (std::int64_t begin = 0; begin < rows; begin += part) {
    lanes_[next].push_back({pending, begin, std::min(begin + part, rows)});
    next = (next + 1) % lanes_.size();
    ++pending->parts_left;
    ++parts_;
  }
  rows_ += rows;
}

std::size_t BatchQueue::oldest() const {
  const auto arrived = [](const Lane& lane) {
    return lane.empty() ? Clock::time_point::max() : lane.front().pending->arrived;
  };
  return static_cast<std::size_t>(std::ranges::min_element(lanes_, {}, arrived) - lanes_.begin());
}

Clock::time_point BatchQueue::due() const {
  const bool alone = parts_ <= 1;
  if (alone || rows_ >= limit_ || options_.max_delay.count() == 0) return Clock::time_point::min();
  return lanes_[oldest()].front().pending->arrived + options_.max_delay;
}

void BatchQueue::take_from(Lane& lane, Batch& batch) {
  while (!lane.empty()) {
    const Part& first = lane.front();
    if (batch.rows > 0 && batch.rows + first.rows() > limit_) {
      batch.release = Release::full;
      return;
    }
    rows_ -= first.rows();
    --parts_;
    if (!first.pending->answered) {
      first.pending->started = true;
      batch.rows += first.rows();
      batch.parts.push_back(first);
    }
    lane.pop_front();
  }
}

Batch BatchQueue::take(int lane) {
  Batch batch;
  batch.release = options_.max_delay.count() > 0 && parts_ > 1 ? Release::delay : Release::idle;
  Lane& own = lanes_[static_cast<std::size_t>(lane) % lanes_.size()];
  Lane& first = lanes_[oldest()];
  const bool others_waited = !own.empty() && first.front().pending->arrived + kPatience < own.front().pending->arrived;
  take_from(others_waited ? first : own, batch);
  while (parts_ > 0 && batch.release != Release::full)
    take_from(*std::ranges::max_element(lanes_, {}, &Lane::size), batch);
  if (batch.rows >= limit_) batch.release = Release::full;
  return batch;
}

void BatchQueue::remove(const Pending& pending) {
  for (Lane& lane : lanes_) {
    std::erase_if(lane, [&](const Part& part) {
      if (part.pending.get() != &pending) return false;
      rows_ -= part.rows();
      --parts_;
      return true;
    });
  }
}

}  // namespace lockring::app::serve
