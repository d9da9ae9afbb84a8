#include "apps/serve/request.h"

#include <utility>

namespace lockring::app::serve {

void Cancellation::cancel() {
  std::vector<std::function<void()>> listeners;
  {
    const std::scoped_lock lock(mutex_);
    if (cancelled_.exchange(true, std::memory_order_acq_rel)) return;
    listeners = std::move(listeners_);
  }
  for (const auto& listener : listeners) listener();
}

void Cancellation::listen(std::function<void()> listener) {
  {
    const std::scoped_lock lock(mutex_);
    if (!cancelled()) return listeners_.push_back(std::move(listener));
  }
  listener();
}

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return "ok";
    case Outcome::full:
      return "full";
    case Outcome::late:
      return "late";
    case Outcome::cancelled:
      return "cancelled";
    case Outcome::unavailable:
      return "unavailable";
    case Outcome::failed:
      return "failed";
  }
  return "?";
}

}  // namespace lockring::app::serve
