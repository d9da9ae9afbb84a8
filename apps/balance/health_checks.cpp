#include "apps/balance/health_checks.h"

#include "core/error.h"

#include <pthread.h>

namespace lockring::app::balance {

// The checks of one backend.
class HealthChecks::Check : public std::enable_shared_from_this<Check> {
 public:
  Check(http::ClientLoop& loop, std::shared_ptr<Backend> backend, const HealthOptions& options)
      : loop_(loop),
        backend_(std::move(backend)),
        options_(options),
        request_(fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: lockring-balance\r\nConnection: close\r\n\r\n",
                             options.target, backend_->name())) {}

  void begin() {
    began_ = Clock::now();
    connection_ = http::ClientConnection::open(loop_, *backend_->destination());
    connection_->set_most(1 << 20);
    const std::string_view part = request_;
    connection_->exchange({&part, 1}, false, began_ + options_.timeout,
                          [this](http::Outcome outcome, http::Received& received) { end(outcome, received.status); });
  }

 private:
  void end(http::Outcome outcome, unsigned status) {
    const auto now = Clock::now();
    backend_->note_reachable(outcome != http::Outcome::not_connected);
    backend_->note_check(outcome == http::Outcome::answered && status == 200, now);
    if (outcome == http::Outcome::not_connected || outcome == http::Outcome::late) look_up();
    loop_.at(std::max(now, began_ + options_.interval), [self = shared_from_this()] { self->begin(); });
  }

  // It may have moved: in a cluster a name outlives addresses.
  void look_up() {
    try {
      const auto found = http::resolve(backend_->url().host, backend_->url().port);
      http::Destination destination = *backend_->destination();
      destination.address = found[next_++ % found.size()];
      backend_->move_to(std::move(destination));
    } catch (const Error&) {
      // The address that is known is as good as any.
    }
  }

  http::ClientLoop& loop_;
  std::shared_ptr<Backend> backend_;
  HealthOptions options_;
  std::string request_;
  std::shared_ptr<http::ClientConnection> connection_;
  Clock::time_point began_;
  std::size_t next_ = 0;
};

HealthChecks::HealthChecks(const Backends& backends, const HealthOptions& options) {
  for (const auto& backend : backends) checks_.push_back(std::make_shared<Check>(loop_, backend, options));
  thread_ = std::thread([this] { run(); });
}

HealthChecks::~HealthChecks() {
  loop_.stop();
  thread_.join();
}

void HealthChecks::run() {
  pthread_setname_np(pthread_self(), "health");
  for (const auto& check : checks_) check->begin();
  loop_.run();
}

}  // namespace lockring::app::balance
