#include "distributed/replica_sum.h"

#include "core/error.h"

#include <algorithm>

namespace lockring::dist {

ReplicaSums::ReplicaSums(World& world, MirroredGroup& group, std::int64_t most)
    : world_(world),
      group_(group),
      most_(most),
      terms_(group.share<double>(2 * group.size() * most)),
      result_(group.share<double>(most)) {
  for (int replica = 0; replica < group.team().size(); ++replica) members_.emplace_back(*this, replica);
}

double* ReplicaSums::terms(std::int64_t call, int replica) const {
  return terms_.begin() + (call % 2 * group_.size() + replica) * most_;
}

// Adjacent replicas first, then pairs of pairs.
void ReplicaSums::add_up(std::int64_t call, std::span<double> values) const {
  std::vector<double> level(static_cast<std::size_t>(group_.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (int replica = 0; replica < group_.size(); ++replica) level[replica] = terms(call, replica)[i];
    for (int distance = 1; distance < group_.size(); distance *= 2)
      for (int at = 0; at + distance < group_.size(); at += 2 * distance) level[at] += level[at + distance];
    values[i] = level[0];
  }
}

void ReplicaSums::Member::sum(std::span<double> values) {
  check(std::ssize(values) <= sums_.most_, ErrorCode::other, "{} values are more than the {} that fit", values.size(),
        sums_.most_);
  ReplicaTeam& team = sums_.group_.team();
  const std::int64_t call = calls_++;
  std::ranges::copy(values, sums_.terms(call, sums_.group_.first() + replica_));
  team.meet(replica_);
  if (sums_.world_.nodes() == 1) return sums_.add_up(call, values);
  const std::span result = sums_.result_.span().first(values.size());
  if (replica_ == 0 && sums_.world_.node().rank() == 0) {
    sums_.add_up(call, result);
    sums_.world_.across().all_reduce(result);
  }
  team.meet(replica_);
  std::ranges::copy(result, values.begin());
}

}  // namespace lockring::dist
