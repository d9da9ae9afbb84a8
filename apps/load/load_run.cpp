#include "apps/load/load_run.h"

#include "apps/http/short_turns.h"
#include "core/error.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <random>
#include <thread>

namespace lockring::app {
namespace {

using Clock = http::ClientLoop::Clock;
using http::ClientConnection;
using http::Outcome;
using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr auto kLookAround = milliseconds(50);
constexpr auto kReconnectPause = milliseconds(50);

Clock::duration in_seconds(double seconds) {
  return duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::not_connected:
      return "not connected";
    case Outcome::closed:
      return "closed without a response";
    case Outcome::broken:
      return "broken response";
    case Outcome::late:
      return "timeout";
    default:
      return "";
  }
}

// When the requests of a rate are due.
class Arrivals {
 public:
  Arrivals(double rate, bool poisson, std::uint64_t seed) : interval_(1 / rate), poisson_(poisson), random_(seed) {}

  void begin(Clock::time_point start) {
    start_ = start;
    advance();
  }
  Clock::time_point next() const { return start_ + in_seconds(offset_); }
  // How many are due from the next one on; of random ones, on average.
  std::int64_t expected_until(Clock::time_point time) const {
    const double seconds = std::chrono::duration<double>(time - next()).count();
    return seconds > 0 ? static_cast<std::int64_t>(std::ceil(seconds / interval_)) : 0;
  }
  void advance() { offset_ += poisson_ ? interval_ * exponential_(random_) : interval_; }

 private:
  double interval_;
  bool poisson_;
  double offset_ = 0;
  Clock::time_point start_;
  std::mt19937_64 random_;
  std::exponential_distribution<double> exponential_;
};

// One thread with its share of the connections.
class Worker {
 public:
  Worker(const LoadOptions& options, int index, std::atomic<bool>& stopping)
      : options_(options),
        stopping_(stopping),
        slots_(share(options.connections, index)),
        left_(options.count > 0 ? share(options.count, index) : INT64_MAX),
        next_request_(static_cast<std::size_t>(index)),
        arrivals_(options.rate > 0 ? options.rate / options.threads : 1, options.poisson,
                  options.seed + static_cast<std::uint64_t>(index)) {}

  // Connects; false if no connection was made.
  bool connect() {
    for (Slot& slot : slots_) {
      slot.connection = ClientConnection::open(loop_, options_.destination, [this](bool) {
        if (--connecting_slots_ == 0 && connecting_) loop_.stop();
      });
    }
    loop_.at(Clock::now() + in_seconds(options_.timeout_seconds), [this] {
      if (connecting_) loop_.stop();
    });
    loop_.run();
    loop_.restart();
    connecting_ = false;
    return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.connection->is_idle(); });
  }

  LoadResult run() {
    start_ = Clock::now();
    end_ = options_.seconds > 0 ? start_ + in_seconds(options_.seconds) : Clock::time_point::max();
    arrivals_.begin(start_);
    look_around();
    if (options_.rate > 0) {
      for (Slot& slot : slots_) free_.push_back(&slot);
      send_due();
    } else {
      for (Slot& slot : slots_) send(slot, Clock::now());
    }
    loop_.run();
    result_.seconds = std::chrono::duration<double>(last_ - start_).count();
    return std::move(result_);
  }

 private:
  struct Slot {
    std::shared_ptr<ClientConnection> connection;
    Clock::time_point due;
  };

  template <class Number>
  Number share(Number total, int index) const {
    return total / options_.threads + (index < total % options_.threads ? 1 : 0);
  }

  // Ends the run in time, and also when nothing is answered any more.
  void look_around() {
    const auto now = Clock::now();
    if (!ended_ && (stopping_ || now >= end_)) end(now);
    if (ended_ && (under_way_ == 0 || stopping_)) return loop_.stop();
    loop_.at(std::min(now + kLookAround, std::max(end_, now + milliseconds(1))), [this] { look_around(); });
  }

  void end(Clock::time_point now) {
    ended_ = true;
    last_ = std::max(last_, std::min(now, end_));
    if (options_.rate == 0) return;
    result_.unsent = std::min(left_, arrivals_.expected_until(std::min(now, end_)));
    left_ = 0;
  }

  // Of a rate: sends what is due as far as connections are free, and comes back for the next.
  void send_due() {
    const auto now = Clock::now();
    while (!ended_ && left_ > 0 && !free_.empty() && arrivals_.next() <= now && arrivals_.next() < end_) {
      Slot* slot = free_.back();
      free_.pop_back();
      const auto due = arrivals_.next();
      arrivals_.advance();
      send(*slot, due);
    }
    if (ended_ || free_.empty() || timer_set_ || left_ == 0) return;
    timer_set_ = true;
    loop_.at(arrivals_.next(), [this] {
      timer_set_ = false;
      send_due();
    });
  }

  void send(Slot& slot, Clock::time_point due) {
    if (ended_ || left_ == 0) return finish_if_done();
    --left_;
    ++under_way_;
    slot.due = due;
    if (slot.connection->is_closed()) slot.connection = ClientConnection::open(loop_, options_.destination);
    next_request_ = (next_request_ + 1) % options_.requests.size();
    const std::string_view request = options_.requests[next_request_];
    slot.connection->exchange({&request, 1}, options_.is_head, Clock::now() + in_seconds(options_.timeout_seconds),
                              [this, &slot](Outcome outcome, http::Received& received) {
                                record(slot, outcome, received);
                                go_on(slot, outcome);
                              });
  }

  void record(const Slot& slot, Outcome outcome, const http::Received& received) {
    const auto now = Clock::now();
    --under_way_;
    last_ = std::max(last_, now);
    if (outcome != Outcome::answered) {
      ++result_.errors[name_of(outcome)];
      return;
    }
    ++result_.statuses[received.status];
    result_.bytes_in += static_cast<std::int64_t>(received.body.size());
    const bool accepted = received.status >= 200 && received.status < 400;
    (accepted ? result_.accepted : result_.refused).record(duration_cast<nanoseconds>(now - slot.due).count());
  }

  void go_on(Slot& slot, Outcome outcome) {
    // A server that is not there is not asked again at once.
    if (outcome == Outcome::not_connected)
      return loop_.at(Clock::now() + kReconnectPause, [this, &slot] { go_on(slot, Outcome::answered); });
    if (options_.rate == 0) return send(slot, Clock::now());
    free_.push_back(&slot);
    send_due();
    finish_if_done();
  }

  void finish_if_done() {
    if (left_ == 0 && !ended_) end(Clock::now());
    if (ended_ && under_way_ == 0) loop_.stop();
  }

  const LoadOptions& options_;
  std::atomic<bool>& stopping_;
  http::ClientLoop loop_;
  std::vector<Slot> slots_;
  std::vector<Slot*> free_;
  std::int64_t left_;
  std::size_t next_request_;
  Arrivals arrivals_;
  Clock::time_point start_, end_, last_{};
  std::int64_t under_way_ = 0;
  bool connecting_ = true;
  std::size_t connecting_slots_ = slots_.size();
  bool ended_ = false;
  bool timer_set_ = false;
  LoadResult result_;
};

}  // namespace

std::int64_t LoadResult::failures() const {
  std::int64_t sum = 0;
  for (const auto& [kind, count] : errors) sum += count;
  return sum;
}

void LoadResult::merge(const LoadResult& other) {
  accepted.merge(other.accepted);
  refused.merge(other.refused);
  for (const auto& [status, count] : other.statuses) statuses[status] += count;
  for (const auto& [kind, count] : other.errors) errors[kind] += count;
  unsent += other.unsent;
  bytes_in += other.bytes_in;
  seconds = std::max(seconds, other.seconds);
}

LoadResult run_load(const LoadOptions& options, const std::function<bool()>& stop) {
  std::atomic<bool> stopping{false};
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < options.threads; ++i) workers.push_back(std::make_unique<Worker>(options, i, stopping));
  bool connected = false;
  for (const auto& worker : workers) connected = worker->connect() || connected;
  check(connected, ErrorCode::device, "no connection could be made");
  std::vector<LoadResult> results(workers.size());
  std::atomic<std::size_t> running{workers.size()};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    threads.emplace_back([&, i] {
      http::take_short_turns();
      results[i] = workers[i]->run();
      --running;
    });
  }
  while (running > 0) {
    if (stop()) stopping = true;
    std::this_thread::sleep_for(kLookAround);
  }
  for (std::thread& thread : threads) thread.join();
  LoadResult sum;
  for (const LoadResult& result : results) sum.merge(result);
  return sum;
}

}  // namespace lockring::app
