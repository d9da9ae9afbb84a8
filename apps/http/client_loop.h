// The thread that client connections live on: an event loop with timers.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace lockring::app::http {

class ClientConnection;

// All calls on the thread that runs it, but for stop() and post().
class ClientLoop {
 public:
  using Clock = std::chrono::steady_clock;

  ClientLoop();                                        // runs by itself, in run()
  explicit ClientLoop(boost::asio::io_context& host);  // runs as a guest of another loop, which outlives it
  ~ClientLoop();
  ClientLoop(const ClientLoop&) = delete;
  ClientLoop& operator=(const ClientLoop&) = delete;

  // Until stop(), or until there is nothing to wait for.
  void run();
  void stop();
  void restart();  // after stop(), before it runs again
  void post(std::function<void()> task);
  // Calls `task` at that time unless the loop ends first.
  void at(Clock::time_point time, std::function<void()> task);

  boost::asio::io_context& io() { return io_; }

 private:
  friend class ClientConnection;
  // Looks for connections that have waited too long.
  void sweep();

  std::unique_ptr<boost::asio::io_context> own_;
  boost::asio::io_context& io_;
  std::vector<ClientConnection*> connections_;
  bool sweeping_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // what timers look at before they touch the loop
};

// The one of this thread if it is the event loop of a Server, for handlers that ask other servers; else nullptr.
ClientLoop* current_client_loop();

}  // namespace lockring::app::http
