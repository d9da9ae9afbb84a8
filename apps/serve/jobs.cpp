#include "apps/serve/jobs.h"

#include <fmt/core.h>

#include <algorithm>
#include <random>
#include <utility>

namespace lockring::app::serve {
namespace {

// Not to be guessed: whoever knows it can read the answer.
std::string random_id() {
  std::random_device device;
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", device());
  return id;
}

}  // namespace

std::string_view name_of(JobState state) {
  switch (state) {
    case JobState::running:
      return "running";
    case JobState::done:
      return "done";
    case JobState::failed:
      return "failed";
    case JobState::cancelled:
      return "cancelled";
  }
  return "?";
}

StoredResponse::StoredResponse(const http::Response& response)
    : status(response.status), content_type(response.content_type), headers(response.headers) {
  for (const http::Buffer& part : response.body) body += part.view();
}

http::Response StoredResponse::copy() const {
  http::Response response{.status = status, .content_type = content_type, .headers = headers, .body = {}};
  response.body.emplace_back(body);
  return response;
}

JobStore::JobStore(const JobOptions& options) : options_(options), watcher_([this] { watch(); }) {}

JobStore::~JobStore() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  watcher_.join();
}

JobView JobStore::view(const std::string& id, const Job& job) const {
  return {.id = id,
          .state = job.state,
          .age_seconds = std::chrono::duration<double>(Clock::now() - job.begun).count(),
          .response = job.response};
}

JobStore::Begun JobStore::begin(const std::string& key, const std::string& content_digest) {
  const std::scoped_lock lock(mutex_);
  expire(Clock::now());
  if (const auto known = keys_.find(key); !key.empty() && known != keys_.end()) {
    const Job& job = jobs_.at(known->second);
    if (job.content_digest != content_digest)
      throw http::StatusError(422, "this idempotency key was used with another request");
    return {.id = known->second, .fresh = false, .cancellation = job.cancellation};
  }
  if (jobs_.size() >= options_.most || bytes_ > options_.most_bytes) {
    ++counts_.refused;
    throw http::StatusError(503, "there are too many jobs", {{"Retry-After", "1"}});
  }
  const std::string id = random_id();
  Job& job = jobs_[id];
  job.key = key;
  job.content_digest = content_digest;
  job.begun = Clock::now();
  job.cancellation = std::make_shared<Cancellation>();
  if (!key.empty()) keys_[key] = id;
  ++counts_.begun;
  changed_.notify_all();
  return {.id = id, .fresh = true, .cancellation = job.cancellation};
}

void JobStore::end(Job& job, JobState state) {
  job.state = state;
  job.ended = Clock::now();
  if (state == JobState::done) ++counts_.done;
  if (state == JobState::failed) ++counts_.failed;
  if (state == JobState::cancelled) ++counts_.cancelled;
  changed_.notify_all();
}

std::vector<JobStore::Waiter> JobStore::take_waiters(const std::function<bool(const Waiter&)>& which) {
  const auto rest = std::stable_partition(waiters_.begin(), waiters_.end(), [&](const Waiter& w) { return !which(w); });
  std::vector<Waiter> taken(std::make_move_iterator(rest), std::make_move_iterator(waiters_.end()));
  waiters_.erase(rest, waiters_.end());
  return taken;
}

void JobStore::finish(const std::string& id, const http::Response& response) {
  std::vector<Waiter> waiters;
  std::optional<JobView> seen;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = jobs_.find(id);
    if (found == jobs_.end() || found->second.state != JobState::running) return;
    found->second.response = std::make_shared<StoredResponse>(response);
    bytes_ += found->second.response->body.size();
    end(found->second, response.status < 300 ? JobState::done : JobState::failed);
    seen = view(id, found->second);
    waiters = take_waiters([&](const Waiter& waiter) { return waiter.id == id; });
  }
  for (const Waiter& waiter : waiters) waiter.then(seen);
}

std::optional<JobView> JobStore::find(const std::string& id) const {
  const std::scoped_lock lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return std::nullopt;
  return view(id, found->second);
}

void JobStore::wait(const std::string& id, std::chrono::milliseconds patience,
                    std::function<void(std::optional<JobView>)> then) {
  std::optional<JobView> seen;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = jobs_.find(id);
    if (found != jobs_.end()) seen = view(id, found->second);
    if (seen && seen->state == JobState::running && patience.count() > 0 && !stopping_) {
      const auto longest = std::chrono::milliseconds(options_.longest_poll);
      waiters_.push_back({id, Clock::now() + std::min(patience, longest), std::move(then)});
      changed_.notify_all();
      return;
    }
  }
  then(seen);
}

std::optional<JobView> JobStore::cancel(const std::string& id) {
  std::vector<Waiter> waiters;
  std::optional<JobView> seen;
  std::shared_ptr<Cancellation> cancellation;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return std::nullopt;
    if (found->second.state == JobState::running) {
      end(found->second, JobState::cancelled);
      cancellation = found->second.cancellation;
      seen = view(id, found->second);
      waiters = take_waiters([&](const Waiter& waiter) { return waiter.id == id; });
    } else {
      seen = view(id, found->second);
      forget(found);
    }
  }
  if (cancellation != nullptr) cancellation->cancel();
  for (const Waiter& waiter : waiters) waiter.then(seen);
  return seen;
}

void JobStore::forget(std::map<std::string, Job>::iterator job) {
  if (job->second.response != nullptr) bytes_ -= job->second.response->body.size();
  keys_.erase(job->second.key);
  jobs_.erase(job);
}

void JobStore::expire(Clock::time_point now) {
  for (auto job = jobs_.begin(); job != jobs_.end();) {
    const auto next = std::next(job);
    if (job->second.state != JobState::running && now >= job->second.ended + options_.keep) {
      forget(job);
      ++counts_.expired;
    }
    job = next;
  }
}

void JobStore::watch() {
  std::unique_lock lock(mutex_);
  for (;;) {
    auto next = Clock::time_point::max();
    for (const Waiter& waiter : waiters_) next = std::min(next, waiter.until);
    for (const auto& [id, job] : jobs_)
      if (job.state != JobState::running) next = std::min(next, job.ended + options_.keep);
    if (!stopping_ && next == Clock::time_point::max()) changed_.wait(lock);
    if (!stopping_ && next != Clock::time_point::max()) changed_.wait_until(lock, next);
    const auto now = Clock::now();
    expire(now);
    const bool last = stopping_;
    std::vector<std::pair<Waiter, std::optional<JobView>>> ready;
    for (Waiter& waiter : take_waiters([&](const Waiter& w) { return last || w.until <= now; })) {
      const auto found = jobs_.find(waiter.id);
      std::optional<JobView> seen;
      if (found != jobs_.end()) seen = view(waiter.id, found->second);
      ready.emplace_back(std::move(waiter), std::move(seen));
    }
    lock.unlock();
    for (const auto& [waiter, seen] : ready) waiter.then(seen);
    lock.lock();
    if (last) return;
  }
}

JobStore::Counts JobStore::counts() const {
  const std::scoped_lock lock(mutex_);
  Counts counts = counts_;
  counts.kept = jobs_.size();
  counts.running = static_cast<std::size_t>(
      std::ranges::count_if(jobs_, [](const auto& entry) { return entry.second.state == JobState::running; }));
  return counts;
}

}  // namespace lockring::app::serve
