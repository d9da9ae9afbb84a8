// One thread with its connections.
#pragma once

#include "apps/http/client_loop.h"
#include "apps/http/server.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace lockring::app::http {

class Connection;
class TlsContext;

using Clock = std::chrono::steady_clock;

// What all connections of a server have in common; the loops outlive no part of it.
struct Shared {
  ServerOptions options;
  Handler handler;
  std::unique_ptr<TlsContext> tls;
};

// Written by the loop's thread, read by any; `open` is raised by the one that accepts.
struct LoopCounters {
  std::atomic<std::int64_t> accepted{0}, open{0}, refused{0}, requests{0}, in_flight{0}, bad{0}, timeouts{0}, gone{0},
      bytes_in{0}, bytes_out{0};
  void add_to(Counters& sum) const;
};
// By the one thread that writes: no locked instruction.
inline void add(std::atomic<std::int64_t>& counter, std::int64_t amount) {
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

class EventLoop : public std::enable_shared_from_this<EventLoop> {
 public:
  EventLoop(int index, std::shared_ptr<const Shared> shared);
  ~EventLoop();

  void start();
  // Ends the thread and all connections.
  void stop();
  // Runs `task` on the loop's thread; from any thread.
  void post(std::function<void()> task);
  bool is_current() const;
  // From any thread: takes over a connected socket. `refuse`: only to tell the client that there is no room.
  void adopt(int fd, std::string peer, bool refuse);
  // From any thread: see Server::drain.
  void start_draining();

  // The rest on the loop's thread.

  void remove(Connection& connection);
  // Has connection.run_handler() called: once all that the sockets had ready now has been read, so that the handler
  // knows how many requests wait (LoopStatus::ready).
  void enqueue(std::shared_ptr<Connection> connection, bool may_run_now);
  bool draining() const { return draining_; }
  // "Mon, 30 Nov 2026 02:09:49 GMT"
  std::string_view date();

  boost::asio::io_context& io() { return *io_; }
  ClientLoop& client_loop() { return *client_loop_; }
  const Shared& shared() const { return *shared_; }
  LoopStatus status;
  LoopCounters counters;

 private:
  struct Timer;
  void run();
  void run_ready();
  // Looks for connections that have taken too long. Every tenth of a second; so no request sets a timer.
  void sweep();

  std::shared_ptr<const Shared> shared_;
  std::unique_ptr<boost::asio::io_context> io_;
  std::unique_ptr<Timer> timer_;
  std::unique_ptr<ClientLoop> client_loop_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::vector<std::shared_ptr<Connection>> ready_;
  bool draining_ = false;
  std::string date_;
  Clock::time_point date_until_{};
  std::thread thread_;
};

}  // namespace lockring::app::http
