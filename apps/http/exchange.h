// A request between its handler and its connection; what the copies of a Responder share.
#pragma once

#include "apps/http/server.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>

namespace lockring::app::http {

class Connection;
class EventLoop;

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(std::weak_ptr<EventLoop> loop, std::weak_ptr<Connection> connection)
      : loop_(std::move(loop)), connection_(std::move(connection)) {}
  ~Exchange();

  // Any thread: as Responder has them.
  void send(Response response);
  bool gone() const { return gone_.load(std::memory_order_relaxed); }
  void on_gone(std::function<void()> callback);

  // On the event loop: tells whoever waits for it.
  void mark_gone();

 private:
  std::weak_ptr<EventLoop> loop_;
  std::weak_ptr<Connection> connection_;  // locked on the event loop only, where connections end
  std::atomic<bool> sent_{false};
  std::atomic<bool> gone_{false};
  std::mutex mutex_;
  std::function<void()> callback_;
};

}  // namespace lockring::app::http
