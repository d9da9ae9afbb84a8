#include "apps/http/client_loop.h"

#include "apps/http/client_connection.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace lockring::app::http {
namespace {

constexpr auto kSweepInterval = std::chrono::milliseconds(50);

}  // namespace

ClientLoop::ClientLoop() : own_(std::make_unique<boost::asio::io_context>(1)), io_(*own_) {}
ClientLoop::ClientLoop(boost::asio::io_context& host) : io_(host) {}

ClientLoop::~ClientLoop() {
  *alive_ = false;
  for (ClientConnection* connection : connections_) connection->forget_loop();
}

void ClientLoop::run() { io_.run(); }
void ClientLoop::stop() { io_.stop(); }
void ClientLoop::restart() { io_.restart(); }
void ClientLoop::post(std::function<void()> task) { boost::asio::post(io_, std::move(task)); }

void ClientLoop::at(Clock::time_point time, std::function<void()> task) {
  auto timer = std::make_shared<boost::asio::steady_timer>(io_, time);
  timer->async_wait([timer, task = std::move(task), alive = alive_](const boost::system::error_code& error) {
    if (!error && *alive) task();
  });
}

void ClientLoop::sweep() {
  sweeping_ = !connections_.empty();
  if (!sweeping_) return;
  const auto now = Clock::now();
  for (std::size_t i = connections_.size(); i-- > 0;) {
    if (i < connections_.size()) connections_[i]->check_time(now);
  }
  at(now + kSweepInterval, [this] { sweep(); });
}

}  // namespace lockring::app::http
