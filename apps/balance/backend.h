// A server behind the balancer: where it is, how it fares, what it has done.
#pragma once

#include "apps/balance/policy.h"
#include "apps/http/client_connection.h"
#include "apps/http/url.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lockring::app::balance {

using Clock = std::chrono::steady_clock;

// When a backend is held for healthy. The defaults are HAProxy's for checks and Envoy's for ejection.
struct HealthOptions {
  std::chrono::milliseconds interval{2000};  // between checks of one backend
  std::chrono::milliseconds timeout{1000};   // of a check
  std::string target = "/v2/health/ready";
  int fall = 3;         // failed checks in a row that take it out
  int rise = 2;         // good checks in a row that take it back
  int eject_after = 5;  // failed requests in a row that eject it, whatever its checks say; 0: never
  std::chrono::milliseconds eject_time{30'000};  // times how often it was ejected, up to ten times that
  double most_ejected = 0.5;                     // share of the backends that may be ejected at once; one always may
  std::chrono::milliseconds slow_start{10'000};  // after it came back, until it has its whole weight
};

// "http://host:port" or "http://host:port*WEIGHT". Throws Error{usage} for what is no such thing.
struct BackendUrl {
  http::Url url;
  double weight = 1;
};
BackendUrl parse_backend(std::string_view text);

// Any thread may call anything; counters are read without locks.
class Backend {
 public:
  Backend(BackendUrl where, http::Destination destination, const HealthOptions& health);

  const http::Url& url() const { return url_; }
  const std::string& name() const { return name_; }  // its authority, for logs and metrics
  std::shared_ptr<const http::Destination> destination() const { return destination_.load(); }
  void move_to(http::Destination destination);

  // By checks and requests so far.
  bool is_up(Clock::time_point now) const { return is_reachable() && checks_passed_.load() && now >= ejected_until(); }
  // Its weight, less while it starts slowly; whether it is up or not.
  double weight(Clock::time_point now) const;

  // Whether the last attempt to connect, by a check or for a request, worked. One that did not is enough to be passed
  // over until the next check: no budget of retries would pay for a dead backend until its checks have failed.
  bool is_reachable() const { return reachable_.load(std::memory_order_relaxed); }
  void note_reachable(bool reachable) {
    if (is_reachable() != reachable) reachable_.store(reachable);
  }

  // A check's result. The first decides at once; after that `fall` and `rise` do. A good one ends an ejection.
  void note_check(bool ok, Clock::time_point now);
  // A request's: one that failed had no answer, or one that says the backend does not work. `may_eject` allows what a
  // row of failures asks for; returns whether it is ejected by this.
  bool note_request(bool ok, bool may_eject, Clock::time_point now);

  struct Counts {
    std::atomic<std::int64_t> in_flight{0};
    std::atomic<std::int64_t> requests{0};    // attempts, retries too
    std::atomic<std::int64_t> statuses[6]{};  // of answers, by the hundred
    std::atomic<std::int64_t> failures{0};    // attempts without an answer
    std::atomic<std::int64_t> failed_checks{0};
    std::atomic<std::int64_t> ejections{0};
  };
  Counts counts;

 private:
  Clock::time_point ejected_until() const { return Clock::time_point(Clock::duration(ejected_until_.load())); }
  void come_back(Clock::time_point now);

  http::Url url_;
  std::string name_;
  double weight_;
  HealthOptions health_;
  std::atomic<std::shared_ptr<const http::Destination>> destination_;
  std::atomic<bool> reachable_{true};
  std::atomic<bool> checks_passed_{true};  // until a check says otherwise
  std::atomic<Clock::rep> ejected_until_{Clock::time_point::min().time_since_epoch().count()};
  std::atomic<Clock::rep> slow_since_{Clock::time_point::min().time_since_epoch().count()};
  std::atomic<int> failed_requests_{0};  // in a row
  std::mutex mutex_;                     // of what follows, and of changes of state
  bool checked_ = false;
  int good_checks_ = 0;
  int bad_checks_ = 0;
  int ejected_times_ = 0;
};

using Backends = std::vector<std::shared_ptr<Backend>>;

// As the policy wants them: those that are up with their weights, the others with none. When less than half are up
// (panic), all that can be reached count as up: too few would fall under the load, and checks may be wrong.
struct Snapshot {
  std::vector<Candidate> candidates;
  int up = 0;
  bool panic = false;
};
void take_snapshot(const Backends& backends, Clock::time_point now, Snapshot& snapshot);

// Whether one more backend may be ejected.
bool may_eject(const Backends& backends, const HealthOptions& health, Clock::time_point now);

}  // namespace lockring::app::balance
