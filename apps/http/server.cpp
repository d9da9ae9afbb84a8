#include "apps/http/server.h"

#include "apps/http/acceptor.h"
#include "apps/http/event_loop.h"
#include "apps/http/tls.h"
#include "core/cpu.h"
#include "core/error.h"

#include <algorithm>
#include <thread>

namespace lockring::app::http {

class Server::Impl {
 public:
  Impl(ServerOptions options, Handler handler) : shared_(std::make_shared<Shared>()) {
    check(options.certificate.empty() == options.key.empty(), "TLS needs both a certificate and a key");
    if (!options.certificate.empty()) shared_->tls = TlsContext::server(options.certificate, options.key);
    const int threads = options.threads > 0 ? options.threads : usable_cores();
    shared_->options = std::move(options);
    shared_->handler = std::move(handler);
    for (int i = 0; i < threads; ++i) loops_.push_back(std::make_shared<EventLoop>(i, shared_));
    acceptor_ = std::make_unique<Acceptor>(shared_->options, loops_);
  }

  ~Impl() { stop(); }

  int port() const { return acceptor_->port(); }

  void start() {
    for (const auto& loop : loops_) loop->start();
    acceptor_->start();
  }

  bool drain(Clock::time_point deadline) {
    acceptor_->stop();
    for (const auto& loop : loops_) loop->start_draining();
    while (counters().open > 0) {
      if (Clock::now() >= deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  void stop() {
    acceptor_->stop();
    for (const auto& loop : loops_) loop->stop();
  }

  Counters counters() const {
    Counters sum;
    for (const auto& loop : loops_) loop->counters.add_to(sum);
    return sum;
  }

 private:
  std::shared_ptr<Shared> shared_;
  std::vector<std::shared_ptr<EventLoop>> loops_;
  std::unique_ptr<Acceptor> acceptor_;
};

Server::Server(ServerOptions options, Handler handler)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(handler))) {}
Server::~Server() = default;

int Server::port() const { return impl_->port(); }
void Server::start() { impl_->start(); }
bool Server::drain(Clock::time_point deadline) { return impl_->drain(deadline); }
void Server::stop() { impl_->stop(); }
Counters Server::counters() const { return impl_->counters(); }

}  // namespace lockring::app::http
