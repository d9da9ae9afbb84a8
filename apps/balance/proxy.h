// Takes a request to one of the backends, and its answer back.
#pragma once

#include "apps/balance/backend.h"
#include "apps/http/server.h"

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lockring::app::balance {

struct ProxyOptions {
  std::string policy = "least-connections";
  std::string hash_header;  // of the policy `hash`: requests of one value go to one backend
  HealthOptions health;
  std::chrono::milliseconds timeout{30'000};  // of a request with its retries
  std::chrono::milliseconds connect_timeout{1'000};
  std::chrono::milliseconds pool_idle_time{50'000};  // less than servers keep idle connections
  double retry_share = 0.2;  // of the requests, the most that may be retries, so that retries do not double an overload
};

// Tokens: each request brings a share of one, each retry takes one; a hundred are there at the beginning and at most,
// enough for what was under way at a backend that dies. Any thread.
class RetryBudget {
 public:
  explicit RetryBudget(double share) : share_(static_cast<std::int64_t>(share * kOne)) {}
  void note_request();
  bool take();

 private:
  static constexpr std::int64_t kOne = 1000;
  static constexpr std::int64_t kMost = 100 * kOne;
  std::int64_t share_;
  std::atomic<std::int64_t> tokens_{kMost};
};

// handle() runs on the event loops of one Server, each of which has connections of its own; it outlives that server.
//
// A request that met no backend (no connection, or closed before a byte of the answer) is tried once more at another,
// and so is one that was answered 503; a kept connection that turns out to be closed costs nothing. A client that goes
// takes its request with it.
class Proxy {
 public:
  // `tls`: the balancer itself speaks TLS, which backends are told.
  Proxy(ProxyOptions options, Backends backends, int loops, bool tls);
  ~Proxy();

  void handle(http::Request&& request, http::Responder responder);

  struct Counts {
    std::atomic<std::int64_t> retries{0};
    std::atomic<std::int64_t> refused_retries{0};  // for want of tokens
    std::atomic<std::int64_t> unanswered{0};       // requests that got 502, 503 or 504 from here
  };
  const Counts& counts() const { return counts_; }
  const Backends& backends() const { return backends_; }
  const ProxyOptions& options() const { return options_; }

 private:
  friend class Forward;
  struct Kept {
    std::shared_ptr<http::ClientConnection> connection;
    Clock::time_point since;
  };
  // Of one event loop, by backend.
  using Pool = std::vector<std::vector<Kept>>;

  Pool& pool() { return pools_[static_cast<std::size_t>(http::current_loop()->index)]; }
  // A kept connection to the backend, or nullptr.
  std::shared_ptr<http::ClientConnection> take_kept(std::size_t backend);
  void keep(std::size_t backend, std::shared_ptr<http::ClientConnection> connection);

  ProxyOptions options_;
  Backends backends_;
  std::unique_ptr<Policy> policy_;
  bool tls_;
  RetryBudget budget_;
  std::vector<Pool> pools_;
  Counts counts_;
};

}  // namespace lockring::app::balance
