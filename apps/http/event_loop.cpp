#include "apps/http/event_loop.h"

#include "apps/http/connection.h"
#include "apps/http/short_turns.h"
#include "apps/http/stream.h"
#include "apps/http/tls.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <pthread.h>
#include <unistd.h>

#include <ctime>

namespace lockring::app::http {
namespace {

constexpr auto kSweepInterval = std::chrono::milliseconds(100);

thread_local EventLoop* this_loop = nullptr;

}  // namespace

ClientLoop* current_client_loop() { return this_loop ? &this_loop->client_loop() : nullptr; }

const LoopStatus* current_loop() { return this_loop ? &this_loop->status : nullptr; }

struct EventLoop::Timer {
  explicit Timer(boost::asio::io_context& io) : timer(io), work(io.get_executor()) {}
  boost::asio::steady_timer timer;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
};

void LoopCounters::add_to(Counters& sum) const {
  sum.accepted += accepted;
  sum.open += open;
  sum.refused += refused;
  sum.requests += requests;
  sum.in_flight += in_flight;
  sum.bad += bad;
  sum.timeouts += timeouts;
  sum.gone += gone;
  sum.bytes_in += bytes_in;
  sum.bytes_out += bytes_out;
}

EventLoop::EventLoop(int index, std::shared_ptr<const Shared> shared)
    : shared_(std::move(shared)),
      io_(std::make_unique<boost::asio::io_context>(1)),
      timer_(std::make_unique<Timer>(*io_)),
      client_loop_(std::make_unique<ClientLoop>(*io_)) {
  status.index = index;
}

EventLoop::~EventLoop() { stop(); }

void EventLoop::start() {
  sweep();
  thread_ = std::thread([this] { run(); });
}

void EventLoop::run() {
  this_loop = this;
  pthread_setname_np(pthread_self(), ("http-" + std::to_string(status.index)).c_str());
  take_short_turns();
  while (true) {
    try {
      io_->run();
      return;
    } catch (const std::exception&) {
      // Out of memory in the middle of an event: that connection's timeout ends it, the loop lives on.
    }
  }
}

void EventLoop::stop() {
  io_->stop();
  if (thread_.joinable()) thread_.join();
  ready_.clear();
  client_loop_.reset();
  while (!connections_.empty()) {
    const std::shared_ptr<Connection> connection = connections_.back();
    connection->close();
  }
}

void EventLoop::post(std::function<void()> task) { boost::asio::post(*io_, std::move(task)); }

bool EventLoop::is_current() const { return this_loop == this; }

void EventLoop::adopt(int fd, std::string peer, bool refuse) {
  post([this, fd, peer = std::move(peer), refuse]() mutable {
    auto connection = std::make_shared<Connection>(*this, make_stream(*io_, fd, shared_->tls.get()), std::move(peer));
    connection->place = connections_.size();
    connections_.push_back(connection);
    ++status.connections;
    add(refuse ? counters.refused : counters.accepted, 1);
    connection->begin(refuse);
  });
}

void EventLoop::start_draining() {
  post([this] { draining_ = true; });
}

void EventLoop::remove(Connection& connection) {
  const std::size_t place = connection.place;
  connections_.back()->place = place;
  std::swap(connections_[place], connections_.back());
  connections_.pop_back();
  --status.connections;
  counters.open.fetch_sub(1);
}

void EventLoop::enqueue(std::shared_ptr<Connection> connection, bool may_run_now) {
  if (may_run_now && status.connections == 1) {
    status.ready = 0;
    return connection->run_handler();
  }
  ready_.push_back(std::move(connection));
  if (ready_.size() == 1) boost::asio::post(*io_, [this] { run_ready(); });
}

void EventLoop::run_ready() {
  const auto ready = std::move(ready_);
  ready_.clear();
  for (std::size_t i = 0; i < ready.size(); ++i) {
    status.ready = static_cast<int>(ready.size() - i - 1);
    ready[i]->run_handler();
  }
}

void EventLoop::sweep() {
  const auto now = Clock::now();
  for (std::size_t i = connections_.size(); i-- > 0;) {
    const std::shared_ptr<Connection> connection = connections_[i];  // which may remove itself
    connection->check_time(now);
  }
  timer_->timer.expires_after(kSweepInterval);
  timer_->timer.async_wait([this](const boost::system::error_code& error) {
    if (!error) sweep();
  });
}

std::string_view EventLoop::date() {
  const auto now = Clock::now();
  if (now >= date_until_) {
    const std::time_t seconds = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    char text[40];
    date_.assign(text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &utc));
    date_until_ = now + std::chrono::milliseconds(500);
  }
  return date_;
}

}  // namespace lockring::app::http
