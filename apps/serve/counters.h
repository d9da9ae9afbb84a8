// Counts and histograms of what a server does: written by any thread at any time, read for /metrics.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>

namespace lockring::app::serve {

using Counter = std::atomic<std::uint64_t>;

// A histogram with fixed upper bounds, and a last bucket for all that is more (Prometheus text format 0.0.4).
template <std::size_t kBounds>
class Buckets {
 public:
  constexpr explicit Buckets(const std::array<double, kBounds>& bounds) : bounds_(bounds) {}

  void add(double value) {
    std::size_t at = 0;
    while (at < kBounds && value > bounds_[at]) ++at;
    counts_[at].fetch_add(1, std::memory_order_relaxed);
    // One unit is a millionth: sums of small numbers stay whole.
    sum_.fetch_add(static_cast<std::uint64_t>(value * kUnits), std::memory_order_relaxed);
  }

  std::span<const double> bounds() const { return bounds_; }
  std::uint64_t count(std::size_t bucket) const { return counts_[bucket].load(std::memory_order_relaxed); }
  double sum() const { return static_cast<double>(sum_.load(std::memory_order_relaxed)) / kUnits; }

 private:
  static constexpr double kUnits = 1e6;

  std::array<double, kBounds> bounds_;
  std::array<Counter, kBounds + 1> counts_{};
  Counter sum_ = 0;
};

// Seconds, from what an inference takes to what nobody waits for.
class Durations : public Buckets<16> {
 public:
  Durations() : Buckets({5e-5, 1e-4, 2e-4, 4e-4, 7e-4, 1e-3, 2e-3, 4e-3, 7e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 1, 10}) {}
  void add(std::chrono::nanoseconds time) { Buckets::add(std::chrono::duration<double>(time).count()); }
};

class BatchSizes : public Buckets<9> {
 public:
  BatchSizes() : Buckets({1, 2, 4, 8, 16, 32, 64, 128, 256}) {}
};

// Why a batch was not larger, or not later.
enum class Release {
  own_thread,  // computed by the thread that brought the request
  idle,        // a worker was free: nobody is held back for others to come
  full,        // --max-batch was reached, or what takes long enough
  delay,       // --max-delay-us had passed
};
inline constexpr std::array kReleaseNames = {"own_thread", "idle", "full", "delay"};

// Of one endpoint. Nanoseconds are sums over requests.
struct Counters {
  Counter success = 0;
  Counter refused = 0;  // queue full
  Counter late = 0;
  Counter cancelled = 0;
  Counter failed = 0;
  Counter rows = 0;     // images answered
  Counter batches = 0;  // times the model ran
  Counter success_ns = 0;
  Counter fail_ns = 0;
  Counter queue_ns = 0;
  Counter compute_ns = 0;
  Counter last_unix_ms = 0;  // when the last request came
  Durations request_seconds;
  Durations queue_seconds;
  Durations compute_seconds;
  BatchSizes batch_rows;
  std::array<Counter, kReleaseNames.size()> released{};
};

}  // namespace lockring::app::serve
