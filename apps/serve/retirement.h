// Endpoints that have been replaced or unloaded. Whoever found one before may still be about to ask it: each ends when
// nobody holds it any more, which is after its last answer.
#pragma once

#include "apps/serve/endpoint.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lockring::app::serve {

// Any thread.
class Retirement {
 public:
  Retirement();
  ~Retirement();  // stop()
  Retirement(const Retirement&) = delete;
  Retirement& operator=(const Retirement&) = delete;

  // Takes what is no longer found; null is allowed.
  void add(std::shared_ptr<Endpoint> endpoint);
  // Ends those that are left, whoever holds them.
  void stop();

 private:
  void watch();
  std::vector<std::shared_ptr<Endpoint>> take_forsaken();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Endpoint>> endpoints_;
  bool stopping_ = false;
  std::thread watcher_;
};

}  // namespace lockring::app::serve
