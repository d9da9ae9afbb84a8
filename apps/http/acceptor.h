// Takes new connections and gives each to the event loop that has the fewest.
#pragma once

#include "apps/http/event_loop.h"

#include <memory>
#include <thread>
#include <vector>

namespace lockring::app::http {

// A thread of its own, so that connections are taken while the loops compute; it sleeps in poll().
class Acceptor {
 public:
  // Listens. Throws Error{usage} if the address and port cannot be had.
  Acceptor(const ServerOptions& options, std::vector<std::shared_ptr<EventLoop>> loops);
  ~Acceptor();

  int port() const { return port_; }
  void start();
  // Takes what the kernel has already completed, then listens no more. May be called again.
  void stop();

 private:
  void run();
  // Takes all there are; false if the process has run out of files.
  bool accept_all();
  void hand_over(int fd, const std::string& peer);
  // With no file descriptor left the client at the head of the queue is closed through the one kept for that.
  void turn_away();

  std::vector<std::shared_ptr<EventLoop>> loops_;
  int listener_ = -1;
  int wake_ = -1;   // an eventfd that ends run()
  int spare_ = -1;  // a descriptor to give up when there are no others
  int port_ = 0;
  std::int64_t most_ = 0;
  std::thread thread_;
};

}  // namespace lockring::app::http
