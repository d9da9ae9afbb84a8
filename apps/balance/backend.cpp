#include "apps/balance/backend.h"

#include "core/error.h"
#include "core/text.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace lockring::app::balance {
namespace {

constexpr int kMostEjections = 10;
constexpr double kFirstShare = 0.1;  // of its weight, when a backend starts slowly
constexpr double kMostWeight = 1000;

}  // namespace

BackendUrl parse_backend(std::string_view text) {
  BackendUrl backend;
  const std::size_t star = text.rfind('*');
  if (star != std::string_view::npos) {
    const std::string weight(text.substr(star + 1));
    char* end = nullptr;
    backend.weight = std::strtod(weight.c_str(), &end);
    check(!weight.empty() && *end == '\0' && backend.weight > 0 && backend.weight <= kMostWeight,
          "the weight of the backend '{}' is to be a number above 0, at most {}", printable(text), kMostWeight);
  }
  backend.url = http::parse_url(text.substr(0, star));
  check(backend.url.target == "/", "the backend '{}' has a path; requests keep their own", printable(text));
  return backend;
}

Backend::Backend(BackendUrl where, http::Destination destination, const HealthOptions& health)
    : url_(std::move(where.url)), name_(url_.authority()), weight_(where.weight), health_(health) {
  move_to(std::move(destination));
}

void Backend::move_to(http::Destination destination) {
  destination_.store(std::make_shared<const http::Destination>(std::move(destination)));
}

double Backend::weight(Clock::time_point now) const {
  const Clock::time_point since(Clock::duration(slow_since_.load()));
  const Clock::time_point full = since + health_.slow_start;
  if (since == Clock::time_point::min() || now >= full) return weight_;
  const double share = std::chrono::duration<double>(now - since) / std::chrono::duration<double>(full - since);
  return weight_ * std::max(kFirstShare, share);
}

void Backend::come_back(Clock::time_point now) {
  failed_requests_ = 0;
  slow_since_ = now.time_since_epoch().count();
}

void Backend::note_check(bool ok, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (!ok) counts.failed_checks.fetch_add(1);
  good_checks_ = ok ? good_checks_ + 1 : 0;
  bad_checks_ = ok ? 0 : bad_checks_ + 1;
  const bool first = !std::exchange(checked_, true);
  if (checks_passed_ && !ok && (first || bad_checks_ >= health_.fall)) {
    checks_passed_ = false;
  } else if (!checks_passed_ && ok && good_checks_ >= health_.rise) {
    checks_passed_ = true;
    come_back(now);
  }
  if (!checks_passed_ || !ok) return;
  if (now < ejected_until()) {
    // What answers a check need not answer requests: it comes back, slowly, and a next ejection lasts longer.
    ejected_until_ = now.time_since_epoch().count();
    come_back(now);
  } else if (ejected_times_ > 0 && now > ejected_until() + health_.eject_time) {
    --ejected_times_;
    ejected_until_ = now.time_since_epoch().count();
  }
}

bool Backend::note_request(bool ok, bool may_eject, Clock::time_point now) {
  if (ok) {
    if (failed_requests_.load(std::memory_order_relaxed) != 0) failed_requests_ = 0;
    return false;
  }
  const int failed = failed_requests_.fetch_add(1) + 1;
  if (health_.eject_after == 0 || failed < health_.eject_after || !may_eject) return false;
  const std::lock_guard lock(mutex_);
  if (now < ejected_until()) return false;
  ejected_times_ = std::min(ejected_times_ + 1, kMostEjections);
  const Clock::time_point until = now + ejected_times_ * health_.eject_time;
  ejected_until_ = until.time_since_epoch().count();
  slow_since_ = until.time_since_epoch().count();
  failed_requests_ = 0;
  counts.ejections.fetch_add(1);
  return true;
}

void take_snapshot(const Backends& backends, Clock::time_point now, Snapshot& snapshot) {
  snapshot.candidates.clear();
  snapshot.up = 0;
  for (const auto& backend : backends) {
    const bool up = backend->is_up(now);
    snapshot.up += up ? 1 : 0;
    snapshot.candidates.push_back({up ? backend->weight(now) : 0, backend->counts.in_flight.load()});
  }
  snapshot.panic = 2 * snapshot.up < static_cast<int>(backends.size());
  if (!snapshot.panic) return;
  const bool any = std::ranges::any_of(backends, [](const auto& backend) { return backend->is_reachable(); });
  for (std::size_t i = 0; i < backends.size(); ++i) {
    if (backends[i]->is_reachable() || !any) snapshot.candidates[i].weight = backends[i]->weight(now);
  }
}

bool may_eject(const Backends& backends, const HealthOptions& health, Clock::time_point now) {
  const auto count = static_cast<double>(backends.size());
  const auto down = std::count_if(backends.begin(), backends.end(), [&](const auto& b) { return !b->is_up(now); });
  if (backends.size() - static_cast<std::size_t>(down) <= 1) return false;  // never the last
  return static_cast<double>(down) + 1 <= std::max(1.0, std::floor(health.most_ejected * count));
}

}  // namespace lockring::app::balance
