// Requests that wait for a replica of one model, and how they become batches.
//
// Not synchronised: its owner's mutex guards it.
#pragma once

#include "apps/serve/counters.h"
#include "apps/serve/request.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace lockring::app::serve {

// A request that was not computed at once.
struct Pending {
  Request request;
  Done done;
  Clock::time_point arrived;
  Clock::time_point leave_by;  // when waiting takes too long, whatever the deadline
  Tensor answer;               // written part by part
  std::int64_t parts_left = 0;
  bool started = false;
  bool answered = false;
  Timing timing;
  std::string failure;                   // of a part; empty: none
  std::chrono::nanoseconds expected{0};  // how long it was thought to wait
};

// Rows [begin, end) of a request: small enough for one batch.
struct Part {
  std::shared_ptr<Pending> pending;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t rows() const { return end - begin; }
};

struct Batch {
  std::vector<Part> parts;
  std::int64_t rows = 0;
  Release release = Release::idle;
};

struct BatchOptions {
  std::int64_t max_rows = 64;
  // How long the first of several waiting requests may be held back for more to come; a lone one never is.
  std::chrono::microseconds max_delay{0};
};

class BatchQueue {
 public:
  // One lane for each replica.
  BatchQueue(const BatchOptions& options, int lanes);

  // From now on batches have at most so many rows, if that is less than max_rows; at least one.
  void limit(std::int64_t rows) { limit_ = std::clamp<std::int64_t>(rows, 1, options_.max_rows); }
  // Appends the request's rows, in parts that keep `replicas` busy alike, to lane after lane from `lane` on.
  void push(const std::shared_ptr<Pending>& pending, int replicas, int lane);
  bool empty() const { return parts_ == 0; }
  std::int64_t rows() const { return rows_; }
  std::int64_t parts() const { return parts_; }
  std::int64_t parts_in(int lane) const { return std::ssize(lanes_[static_cast<std::size_t>(lane)]); }

  // When a free replica should take a batch: in the past, or when the first of several has waited for max_delay.
  Clock::time_point due() const;
  // The oldest parts of the replica's own lane, unless those of another have waited longer; then of the fullest lanes,
  // as many as fit into a batch. Those whose request has been answered meanwhile (it was late or cancelled) are
  // dropped; the batch may be empty.
  Batch take(int lane);
  // Takes a request out, if none of it has started.
  void remove(const Pending& pending);

 private:
  using Lane = std::deque<Part>;

  void take_from(Lane& lane, Batch& batch);
  std::size_t oldest() const;  // the lane whose first part has waited longest

  BatchOptions options_;
  std::int64_t limit_;
  std::vector<Lane> lanes_;
  std::int64_t rows_ = 0;
  std::int64_t parts_ = 0;
};

}  // namespace lockring::app::serve
