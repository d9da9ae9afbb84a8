// What is asked of a served model, and what comes back: no HTTP in it.
#pragma once

#include "core/tensor.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::app::serve {

using Clock = std::chrono::steady_clock;

// Tells those who work for somebody that he is gone. Shared by both; any thread.
class Cancellation {
 public:
  // Calls the listeners, once.
  void cancel();
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // `listener` is called by cancel(), or now if that has been. It must not call back into this object.
  void listen(std::function<void()> listener);

 private:
  std::atomic<bool> cancelled_ = false;
  std::mutex mutex_;
  std::vector<std::function<void()>> listeners_;
};

struct Request {
  // [n, height, width, channels], n >= 1: u8, or f32 that stand for bytes (0 to 255).
  Tensor images;
  Clock::time_point deadline = Clock::time_point::max();
  std::uint64_t affinity = 0;  // equal for requests that belong together; 0: none
  std::shared_ptr<Cancellation> cancellation = nullptr;
  // Whether the calling thread may compute the answer itself if that is quick and nobody else waits.
  bool inline_allowed = false;
};

enum class Outcome {
  ok,
  full,         // refused: the queue is full, or would be too slow
  late,         // the deadline has passed, or would have
  cancelled,    // nobody waits for the answer any more
  unavailable,  // the model is being unloaded, or is not loaded
  failed,       // computing threw, or enough members of an ensemble did not answer
};
std::string_view name_of(Outcome outcome);

// How an answer came to be; zero where that does not apply.
struct Timing {
  std::chrono::nanoseconds queue{0};
  std::chrono::nanoseconds compute{0};
  std::int64_t batch_rows = 0;  // computed together, others' included
};

// What one model of several said.
struct MemberAnswer {
  std::string model;
  std::string version;
  Outcome outcome = Outcome::ok;
  std::string message;
  Tensor probabilities;  // undefined unless ok
  Timing timing;
};

struct Answer {
  Outcome outcome = Outcome::ok;
  std::string message = "";   // unless ok
  Tensor probabilities = {};  // f32 [n, classes]
  Timing timing = {};
  std::string model = "";  // who answered: for a split, the arm
  std::string version = "";
  // Of an ensemble: what each member said, and for each image the share of members that answered with the ensemble's
  // class, f32 [n].
  std::vector<MemberAnswer> members = {};
  Tensor agreement = {};
  std::chrono::milliseconds retry_after{0};  // of full: when there may be room
};

// Called exactly once, on any thread, perhaps before submit returns. Must not throw, and not take long.
using Done = std::function<void(Answer)>;

}  // namespace lockring::app::serve
