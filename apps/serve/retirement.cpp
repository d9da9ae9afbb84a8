#include "apps/serve/retirement.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace lockring::app::serve {

Retirement::Retirement() : watcher_([this] { watch(); }) {}

Retirement::~Retirement() { stop(); }

void Retirement::add(std::shared_ptr<Endpoint> endpoint) {
  if (endpoint == nullptr) return;
  {
    const std::scoped_lock lock(mutex_);
    endpoints_.push_back(std::move(endpoint));
  }
  changed_.notify_one();
}

void Retirement::stop() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (watcher_.joinable()) watcher_.join();
  for (const auto& endpoint : endpoints_) endpoint->stop();
  endpoints_.clear();
}

// Nobody can find them, so what has one owner now has one for ever.
std::vector<std::shared_ptr<Endpoint>> Retirement::take_forsaken() {
  const auto held = [](const std::shared_ptr<Endpoint>& endpoint) { return endpoint.use_count() > 1; };
  const auto forsaken = std::ranges::partition(endpoints_, held);
  std::vector<std::shared_ptr<Endpoint>> taken(std::move_iterator(forsaken.begin()),
                                               std::move_iterator(forsaken.end()));
  endpoints_.erase(forsaken.begin(), forsaken.end());
  return taken;
}

void Retirement::watch() {
  constexpr std::chrono::milliseconds kRound{2};
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto forsaken = take_forsaken();
    if (!forsaken.empty()) {
      lock.unlock();
      for (const auto& endpoint : forsaken) endpoint->stop();
      lock.lock();
    } else if (endpoints_.empty()) {
      changed_.wait(lock, [&] { return stopping_ || !endpoints_.empty(); });
    } else {
      changed_.wait_for(lock, kRound);
    }
  }
}

}  // namespace lockring::app::serve
