#include "apps/balance/proxy.h"

#include "apps/balance/forwarding.h"

#include <algorithm>
#include <array>

namespace lockring::app::balance {
namespace {

using http::ClientConnection;
using http::Outcome;
using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr std::size_t kMostKept = 256;  // a loop and backend

// Answers that say the backend does not work. 503 is a full one, 501 an honest one.
bool says_broken(unsigned status) { return status == 500 || status == 502 || status == 504; }

}  // namespace

void RetryBudget::note_request() {
  const std::int64_t tokens = tokens_.load(std::memory_order_relaxed);
  if (tokens < kMost) tokens_.fetch_add(std::min(share_, kMost - tokens), std::memory_order_relaxed);
}

bool RetryBudget::take() {
  if (tokens_.fetch_sub(kOne) >= kOne) return true;
  tokens_.fetch_add(kOne);
  return false;
}

// One request on its way. Lives as long as the connection that it waits for, all on one event loop.
class Forward : public std::enable_shared_from_this<Forward> {
 public:
  Forward(Proxy& proxy, http::Request&& request, http::Responder responder)
      : proxy_(proxy),
        request_(std::move(request)),
        responder_(std::move(responder)),
        deadline_(Clock::now() + patience_of(request_, proxy.options_.timeout)),
        tried_(proxy.backends_.size()) {
    const std::string& header = proxy.options_.hash_header;
    if (!header.empty() && request_.has_header(header)) key_ = hash_key(request_.header(header));
  }

  void start() {
    proxy_.budget_.note_request();
    responder_.on_gone([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->abandon();
    });
    attempt();
  }

 private:
  void attempt() {
    const auto now = Clock::now();
    if (now >= deadline_) return give_up(504, "no backend answered in time");
    backend_ = pick(now);
    if (backend_ == kNone) return give_up(503, "there is no backend");
    Backend& backend = *proxy_.backends_[backend_];
    tried_[backend_] = true;
    connection_ = proxy_.take_kept(backend_);
    was_kept_ = connection_ != nullptr;
    if (!connection_) connection_ = ClientConnection::open(*http::current_client_loop(), *backend.destination());
    head_ = forwarded_head(request_, backend.name(), proxy_.tls_, duration_cast<milliseconds>(deadline_ - now));
    backend.counts.in_flight.fetch_add(1);
    backend.counts.requests.fetch_add(1);
    const std::array<std::string_view, 2> parts = {head_, request_.body.text()};
    connection_->exchange(
        parts, request_.method == "HEAD", deadline_,
        [self = shared_from_this()](Outcome outcome, http::Received& received) { self->end(outcome, received); });
    if (!was_kept_) connection_->limit_connecting(now + proxy_.options_.connect_timeout);
  }

  // One that was not tried; if there is none left, any but the last.
  std::size_t pick(Clock::time_point now) {
    thread_local Snapshot snapshot;
    take_snapshot(proxy_.backends_, now, snapshot);
    std::vector<Candidate>& candidates = snapshot.candidates;
    bool others = false;
    for (std::size_t i = 0; i < candidates.size(); ++i) others = others || (candidates[i].weight > 0 && !tried_[i]);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (others && tried_[i]) candidates[i].weight = 0;
    }
    return proxy_.policy_->pick(candidates, {key_});
  }

  void end(Outcome outcome, http::Received& received) {
    Backend& backend = *proxy_.backends_[backend_];
    backend.counts.in_flight.fetch_sub(1);
    const auto connection = std::exchange(connection_, nullptr);
    if (!was_kept_) backend.note_reachable(outcome != Outcome::not_connected);
    if (outcome == Outcome::answered) {
      backend.counts.statuses[std::min(received.status / 100, 5u)].fetch_add(1);
      note(!says_broken(received.status));
      if (connection->is_idle()) proxy_.keep(backend_, connection);
      if (received.status == 503 && proxy_.backends_.size() > 1 && may_retry()) return attempt();
      return respond(received);
    }
    // A kept connection that the backend has closed meanwhile says nothing about the backend.
    if (was_kept_ && outcome == Outcome::closed && stale_++ < kMostStale) {
      tried_[backend_] = false;
      return attempt();
    }
    backend.counts.failures.fetch_add(1);
    note(false);
    const bool is_safe = outcome == Outcome::not_connected || outcome == Outcome::closed ||
                         (outcome == Outcome::broken && (request_.method == "GET" || request_.method == "HEAD"));
    if (is_safe && may_retry()) return attempt();
    if (outcome == Outcome::late && Clock::now() >= deadline_)
      return give_up(504, "the backend did not answer in time");
    give_up(502, outcome == Outcome::broken ? "the backend's answer broke off" : "no backend could be reached");
  }

  void note(bool ok) {
    const auto now = Clock::now();
    const bool may = !ok && may_eject(proxy_.backends_, proxy_.options_.health, now);
    proxy_.backends_[backend_]->note_request(ok, may, now);
  }

  bool may_retry() {
    if (retried_ || responder_.gone()) return false;
    retried_ = true;
    const bool may = proxy_.budget_.take();
    (may ? proxy_.counts_.retries : proxy_.counts_.refused_retries).fetch_add(1);
    return may;
  }

  void respond(http::Received& received) {
    http::Response response = forwarded_response(received);
    // Without a body the length that the answer to GET would have is all there is.
    if (request_.method == "HEAD" && !received.content_length().empty())
      response.headers.push_back({"Content-Length", std::string(received.content_length())});
    responder_.send(std::move(response));
  }

  void give_up(unsigned status, std::string_view why) {
    proxy_.counts_.unanswered.fetch_add(1);
    http::Response response = http::error_response(status, why);
    if (status == 503) response.headers.push_back({"Retry-After", "1"});
    responder_.send(std::move(response));
  }

  // The client has gone: so does its request, which the backend may then cancel.
  void abandon() {
    if (!connection_) return;
    proxy_.backends_[backend_]->counts.in_flight.fetch_sub(1);
    const auto connection = std::exchange(connection_, nullptr);
    connection->close();
  }

  static constexpr int kMostStale = 2;

  Proxy& proxy_;
  http::Request request_;
  http::Responder responder_;
  Clock::time_point deadline_;
  std::uint64_t key_ = 0;
  std::vector<bool> tried_;
  std::size_t backend_ = kNone;
  std::shared_ptr<ClientConnection> connection_;
  std::string head_;
  bool was_kept_ = false;
  bool retried_ = false;
  int stale_ = 0;
};

Proxy::Proxy(ProxyOptions options, Backends backends, int loops, bool tls)
    : options_(std::move(options)),
      backends_(std::move(backends)),
      policy_(make_policy(options_.policy)),
      tls_(tls),
      budget_(options_.retry_share),
      pools_(static_cast<std::size_t>(loops), Pool(backends_.size())) {}

Proxy::~Proxy() = default;

void Proxy::handle(http::Request&& request, http::Responder responder) {
  std::make_shared<Forward>(*this, std::move(request), std::move(responder))->start();
}

// The one used last: those at the other end grow old.
std::shared_ptr<ClientConnection> Proxy::take_kept(std::size_t backend) {
  std::vector<Kept>& kept = pool()[backend];
  const auto now = Clock::now();
  while (!kept.empty()) {
    Kept last = std::move(kept.back());
    kept.pop_back();
    if (last.connection->is_idle() && now - last.since < options_.pool_idle_time) return std::move(last.connection);
    last.connection->close();
  }
  return nullptr;
}

void Proxy::keep(std::size_t backend, std::shared_ptr<ClientConnection> connection) {
  std::vector<Kept>& kept = pool()[backend];
  const auto now = Clock::now();
  const auto is_old = [&](const Kept& one) {
    return one.connection->is_closed() || now - one.since >= options_.pool_idle_time;
  };
  while (!kept.empty() && is_old(kept.front())) kept.erase(kept.begin());
  if (kept.size() < kMostKept) kept.push_back({std::move(connection), now});
}

}  // namespace lockring::app::balance
