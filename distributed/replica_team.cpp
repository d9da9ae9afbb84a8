#include "distributed/replica_team.h"

#include "core/error.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>

namespace lockring::dist {
namespace {

// Ends the job of a replica that did not fail itself; never reaches the user.
struct PeerFailed {};

std::string plain_explanation(const std::vector<int>& missing) {
  if (missing.empty()) return "a replica of another process has failed";
  return fmt::format("waited in vain for replica {} to come to a meeting", fmt::join(missing, " and replica "));
}

}  // namespace

ReplicaTeam::ReplicaTeam(int replicas) : ReplicaTeam(replicas, Meeting(std::max(replicas, 1)), 0) {}

ReplicaTeam::ReplicaTeam(int replicas, Meeting meeting, int first)
    : replicas_(replicas), start_(replicas), finish_(replicas), meeting_(std::move(meeting)), first_(first) {
  check(replicas > 0, "a team of {} replicas is not possible", replicas);
  set_explanation(plain_explanation);
  try {
    for (int replica = 1; replica < replicas; ++replica) threads_.emplace_back([this, replica] { work(replica); });
  } catch (const std::system_error& error) {
    start_.abort();
    for (std::thread& thread : threads_) thread.join();
    fail(ErrorCode::device, "cannot start {} replicas: {}", replicas, error.what());
  }
}

ReplicaTeam::~ReplicaTeam() {
  job_ = nullptr;
  if (start_.wait())
    for (std::thread& thread : threads_) thread.join();
}

void ReplicaTeam::run(const std::function<void(int)>& job) {
  check(failure_ == nullptr && !peers_failed_, ErrorCode::device,
        "a replica has failed; the others cannot go on without it");
  job_ = &job;
  if (start_.wait()) perform(0);
  if (!finish_.wait()) return;
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  if (peers_failed_) fail(ErrorCode::device, "{}", explain_(missing_));
}

void ReplicaTeam::meet(int replica) {
  if (meeting_.wait(first_ + replica)) return;
  const std::lock_guard lock(failure_mutex_);
  if (!peers_failed_ && meeting_.late()) missing_ = meeting_.missing(first_ + replica);
  peers_failed_ = true;
  throw PeerFailed{};
}

void ReplicaTeam::work(int replica) {
  while (start_.wait() && job_ != nullptr) {
    perform(replica);
    if (!finish_.wait()) return;
  }
}

void ReplicaTeam::perform(int replica) {
  try {
    (*job_)(replica);
  } catch (const PeerFailed&) {
  } catch (...) {
    const std::lock_guard lock(failure_mutex_);
    if (failure_ == nullptr) failure_ = std::current_exception();
    meeting_.abort();
  }
}

}  // namespace lockring::dist
