// Asks every backend, again and again, whether it is ready.
#pragma once

#include "apps/balance/backend.h"

#include <memory>
#include <thread>

namespace lockring::app::balance {

// A thread of its own from construction to destruction. Each check makes a connection of its own, so that it also sees
// a backend that takes no new ones. A backend that cannot be reached is looked up again by its name.
class HealthChecks {
 public:
  HealthChecks(const Backends& backends, const HealthOptions& options);
  ~HealthChecks();

 private:
  class Check;
  void run();

  http::ClientLoop loop_;
  std::vector<std::shared_ptr<Check>> checks_;
  std::thread thread_;
};

}  // namespace lockring::app::balance
