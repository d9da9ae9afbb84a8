#include "apps/serve/servable.h"

namespace lockring::app::serve {
namespace {

Counter& counter_of(Counters& counters, Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return counters.success;
    case Outcome::full:
      return counters.refused;
    case Outcome::late:
      return counters.late;
    case Outcome::cancelled:
      return counters.cancelled;
    case Outcome::unavailable:
    case Outcome::failed:
      break;
  }
  return counters.failed;
}

}  // namespace

void Servable::count(const Answer& answer, std::int64_t rows, Clock::time_point arrived) {
  const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - arrived);
  const auto nanoseconds = static_cast<std::uint64_t>(took.count());
  const auto add = [](Counter& counter, std::uint64_t n) { counter.fetch_add(n, std::memory_order_relaxed); };
  add(counter_of(counters_, answer.outcome), 1);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  counters_.last_unix_ms.store(
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count()),
      std::memory_order_relaxed);
  counters_.request_seconds.add(took);
  if (answer.outcome != Outcome::ok) return add(counters_.fail_ns, nanoseconds);
  add(counters_.rows, static_cast<std::uint64_t>(rows));
  add(counters_.success_ns, nanoseconds);
  add(counters_.queue_ns, static_cast<std::uint64_t>(answer.timing.queue.count()));
  add(counters_.compute_ns, static_cast<std::uint64_t>(answer.timing.compute.count()));
  counters_.queue_seconds.add(answer.timing.queue);
  counters_.compute_seconds.add(answer.timing.compute);
}

}  // namespace lockring::app::serve
